/** What serves each contract in these tests: the accelerators that their environment names, all where it names none. */
import { chooseAccelerators } from "../../src/composition/accelerators.ts";
import { loadConfig } from "../../src/config/config.ts";
import { environment } from "./environment.ts";

export const accelerators = chooseAccelerators(loadConfig(undefined, environment).accelerators);
