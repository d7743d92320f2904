/** All rows, in the order in which they are played. */
import type { Row } from "../row.ts";
import { bodies } from "./bodies.ts";
import { duplicates } from "./duplicates.ts";
import { endedConnections } from "./ended-connections.ts";
import { expansion } from "./expansion.ts";
import { floods } from "./floods.ts";
import { heads } from "./heads.ts";
import { keyless } from "./keyless.ts";
import { money } from "./money.ts";
import { namesAndGuesses } from "./names.ts";
import { silentConnections } from "./silent-connections.ts";
import { sockets } from "./sockets.ts";
import { upstreams } from "./upstreams.ts";

export const rows: readonly Row[] = [
  ...endedConnections,
  ...silentConnections,
  ...duplicates,
  ...bodies,
  ...expansion,
  ...floods,
  ...sockets,
  ...keyless,
  ...heads,
  ...upstreams,
  ...namesAndGuesses,
  ...money,
];
