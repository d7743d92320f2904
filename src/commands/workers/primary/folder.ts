/** Makes the folder of the sockets at which workers find their owner. Nobody but this user gets in, so whoever connects is a worker. */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Config } from "../../../config/config.ts";
import { StartError } from "../../line/errors.ts";

export interface SocketFolder {
  /** Returns another path with each call. */
  next(): string;
  remove(): void;
}

/** The longest path that a socket may have on any system, in bytes. */
const maxBytes = 103;

/** makeSocketFolder throws a StartError where no folder can have sockets. */
export async function makeSocketFolder({ dataDir }: Pick<Config, "dataDir">): Promise<SocketFolder> {
  for (const parent of [tmpdir(), dataDir]) {
    const folder = made(parent);
    if (folder === undefined) continue;
    const remove = () => rmSync(folder, { recursive: true, force: true });
    let count = 0;
    const next = () => join(folder, `${++count}`);
    const first = next();
    if (Buffer.byteLength(first) + 4 <= maxBytes && (await canListen(first))) return { next, remove };
    remove();
  }
  throw new StartError(
    `workers need a folder for their sockets, and ${tmpdir()} and ${dataDir} cannot have any. Name another by TMPDIR: ` +
      "one that can be written, of a file system that has sockets, with a short path",
  );
}

function made(parent: string): string | undefined {
  try {
    return mkdtempSync(join(parent, "model-gateway-"));
  } catch {
    return undefined;
  }
}

function canListen(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(path, () => server.close(() => resolve(true)));
  });
}
