/** `npm run bench:micro`: measures the parts of a call, in nanoseconds each. */

import { helpFirst } from "../../tools/program-help.ts";
import { measureCodec } from "./codec.ts";
import { measureLimits } from "./limits.ts";
import { measureMoney } from "./money.ts";
import { measureScan } from "./scan.ts";
import { measureSeeing } from "./seeing.ts";
import { measureStreams } from "./streams.ts";

helpFirst(import.meta.filename);

await measureCodec();
await measureScan();
await measureLimits();
await measureStreams();
await measureMoney();
await measureSeeing();
