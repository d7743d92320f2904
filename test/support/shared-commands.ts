/** A process for commands and a folder that the tests of a file share. */
import { afterAll, beforeAll } from "vitest";
import { type Commands, startCommands, temporaryFolder } from "./command.ts";

export interface SharedCommands {
  readonly commands: Pick<Commands, "run">;
  readonly folder: { readonly path: string };
}

/** Has both made before the tests of the file, and taken away after them. */
export function shareCommands(): SharedCommands {
  let commands: Commands;
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;
  beforeAll(async () => {
    folder = await temporaryFolder();
    commands = startCommands();
  });
  afterAll(async () => {
    await commands.close();
    await folder.remove();
  });
  return {
    commands: { run: (args, env) => commands.run(args, env) },
    folder: {
      get path() {
        return folder.path;
      },
    },
  };
}
