/** The program of the thread that searches for instances of schemas. */
import { type MessagePort, parentPort } from "node:worker_threads";
import { putBehind } from "../../runtime/thread-priority.ts";
import type { InstanceReply, InstanceRequest } from "./find-instance.ts";
import { instanceOf } from "./instance.ts";

if (!parentPort) throw new Error("instances are searched in a thread only");
serve(parentPort);

function serve(port: MessagePort): void {
  putBehind();
  port.on("message", ({ schema, options }: InstanceRequest) => {
    const value = instanceOf(schema, options);
    port.postMessage((value === undefined ? {} : { value }) satisfies InstanceReply);
  });
}
