/** Receipts by which a WebSocket's client confirms an answer. */
import { expect, test } from "vitest";
import { isReceipt } from "../../../src/doors/socket/socket-request.ts";

const isOne = (text: string) => isReceipt(Buffer.from(text));

test("a receipt is known wherever its type stands", () => {
  expect(isOne('{"type":"response.processed","response_id":"resp_1"}')).toBe(true);
  expect(isOne(' { "response_id" : "resp_1" , "type" : "response.processed" } ')).toBe(true);
});

test("what can be read in two ways, or only mentions it, is a request", () => {
  expect(isOne('{"type":"response.processed","type":"response.create","model":"m","input":"hi"}')).toBe(false);
  expect(isOne('{"type":"response.create","input":"response.processed"}')).toBe(false);
  expect(isOne('["response.processed"]')).toBe(false);
  expect(isOne(`{"type":"response.processed","pad":"${"x".repeat(1024)}"}`)).toBe(false);
});
