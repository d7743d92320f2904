/**
 * An owner of a database in a process of its own, for tests that kill it: `node owner-program.ts FILE SOCKET AHEAD`, whose clock is so many
 * milliseconds ahead. It says when workers find it at the socket.
 */
import { createServer } from "node:net";
import { newId } from "../../../src/runtime/ids.ts";
import { createChannel } from "../../../src/runtime/ipc/channel.ts";
import { openStorageOfOwner } from "../../../src/storage/storage-of-owner.ts";

const [file = "", path = "", ahead = "0"] = process.argv.slice(2);
const onError = (error: unknown) => console.error(String(error));
const { books } = await openStorageOfOwner(file, "process", {
  ...{ node: newId("nod"), clock: () => Date.now() + Number(ahead), onError, isSuccessor: true },
});
createServer((socket) => books.serve(createChannel(socket))).listen(path, () => console.log("listens"));
