/** `model-gateway files` gives people what ships inside: licences, protos, examples. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { modelGateway, root } from "../support/command.ts";

test("lists the files, and prints each as it is", async () => {
  const listed = await modelGateway(["files"], {});
  const paths = listed.stdout.trim().split("\n");
  expect(paths).toEqual(expect.arrayContaining(["LICENSE", "licenses/flite.txt", "proto/modelgateway/v1/chat.proto"]));
  const printed = await modelGateway(["files", "proto/modelgateway/v1/chat.proto"], {});
  expect(printed.stdout).toBe(readFileSync(join(root, "proto/modelgateway/v1/chat.proto"), "utf8"));
});

test("refuses any other path", async () => {
  const { code, stdout, stderr } = await modelGateway(["files", "../etc/passwd"], {});
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toBe("model-gateway: there is no file ../etc/passwd. `model-gateway files` lists them\n");
});
