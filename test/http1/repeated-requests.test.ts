/** Heads that a client repeats are not parsed again, and have the same effect as if they were. */
import { Agent, request } from "node:http";
import { text } from "node:stream/consumers";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type PlainHead, readHead } from "../../src/http1/server/request.ts";
import { RequestHeads } from "../../src/http1/server/request-heads.ts";
import { issueKey } from "../../src/services/keys/issue-key.ts";
import { now, startTestGateway } from "../support/gateway.ts";

const head = (length: string, more = "x-a: b") =>
  Buffer.from(`POST /v1/x HTTP/1.1\r\nHost: h\r\n${more}\r\nContent-Length:${length}\r\nx-z: y\r\n\r\nbody`, "latin1");

const isRepeated = (read: PlainHead | undefined) => read?.sameHeaders !== undefined;

/** Reads a head without having read another. */
function readAlone(bytes: Buffer) {
  const read = readHead(bytes);
  return read && { url: read.url, headers: { ...read.headers }, from: read.from, to: read.to };
}

test("the first head is not remembered, the second is, and its repetitions are not parsed", () => {
  const heads = new RequestHeads();
  const [first, second, third] = [heads.read(head(" 4")), heads.read(head(" 4")), heads.read(head(" 1234"))];
  expect([first, second, third].map(isRepeated)).toEqual([false, false, true]);
  expect(second?.headers).not.toBe(first?.headers);
  expect(third?.headers).toBe(second?.headers);
  expect(third).toMatchObject({ url: "/v1/x", headers: { host: "h", "content-length": "1234" } });
  expect(heads.read(head(" 4", "x-a: c"))).toMatchObject({ sameHeaders: undefined, headers: { "x-a": "c" } });
});

test("a long head is not remembered, nor is the one before it any longer", () => {
  const heads = new RequestHeads();
  const [short, long] = [head(" 4"), head(" 4", `x-a: ${"b".repeat(4_096)}`)];
  const repeated = [short, short, short, long, long, short, short].map((bytes) => isRepeated(heads.read(bytes)));
  expect(repeated).toEqual([false, false, true, false, false, false, true]);
});

test.each([
  ["authorization", "authorization: Bearer"],
  ["x-api-key", "x-api-key:"],
  ["authorization", "x-a: b\r\nx-b: c\r\nAuthorization:  Bearer"],
])("another credential in %s is found without reading the head anew, and is no repetition: %s", (name, written) => {
  const heads = new RequestHeads();
  const read = (secret: string, length = " 4") => heads.read(head(length, `${written} ${secret}`));
  const asWritten = (secret: string) => (written.endsWith("Bearer") ? `Bearer ${secret}` : secret);
  read("sk-0");
  const second = read("sk-z");
  for (const [i, secret] of ["sk-a", "sk-b", "sk-a", "sk-d", "sk-b", "sk-c"].entries()) {
    const found = read(secret, ` ${10 ** i}`);
    expect(found?.headers).toBe(second?.headers);
    expect(found?.sameHeaders).toBeUndefined();
    expect(found?.headers).toMatchObject({ [name]: asWritten(secret), "content-length": String(10 ** i) });
  }
  const same = read("sk-c")?.sameHeaders;
  expect(same).toBeDefined();
  expect(read("sk-c")?.sameHeaders).toBe(same);
  for (const secret of ["sk-d", "sk-c"]) expect(read(secret)?.sameHeaders).toBeUndefined();
  const again = read("sk-c");
  expect(again?.headers).toMatchObject({ [name]: asWritten("sk-c") });
  expect(again?.sameHeaders).toBeDefined();
  expect(again?.sameHeaders).not.toBe(same);
});

test("each is read to the same, whichever came before it on its connection", () => {
  const length = fc.constantFrom(" 4", "4", "  4 ", "\t04", " 0", " 70000", " 99999999999999", " 1234567890123456");
  const bad = fc.constantFrom(" ", "", " x", " 4x", " -4", " 4 4", " +4", " 4\r\nx-b: c");
  const named = fc.constantFrom("x-a", "authorization", "x-api-key", "Authorization: Bearer a\r\nx-api-key");
  const good = fc.constantFrom("Bearer a", "Bearer b", "Bearer c");
  const odd = fc.constantFrom("Bearer  ", "earer c ", "Bearer\rc", "Bearer\tc", "Bearer cc");
  const value = fc.oneof({ weight: 4, arbitrary: good }, odd);
  const others = fc.constantFrom("x-a: b", "x-a: c", "content-type: a", "x-content-length: 5", "te: trailers");
  const more = fc.oneof({ weight: 4, arbitrary: value.map((text) => ({ value: text })) }, others);
  const whole = fc.tuple(fc.oneof({ weight: 4, arbitrary: length }, bad), more);
  /** Another byte somewhere, or what is there up to somewhere. */
  const byte = fc.option(fc.constantFrom(10, 13, 32, 48, 57, 58, 120));
  const harm = fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, fc.record({ at: fc.nat(200), byte }));
  let repeated = 0;
  let replaced = 0;
  const known = new Map<object, unknown>();
  fc.assert(
    fc.property(named, fc.array(fc.tuple(whole, harm), { minLength: 4, maxLength: 14 }), (name, requests) => {
      const heads = new RequestHeads();
      let last: unknown;
      for (const [[ownLength, ownMore], harmed] of requests) {
        let bytes = head(ownLength, typeof ownMore === "string" ? ownMore : `${name}: ${ownMore.value}`);
        if (harmed && harmed.at < bytes.length) {
          if (harmed.byte === null) bytes = bytes.subarray(0, harmed.at);
          else bytes[harmed.at] = harmed.byte;
        }
        const read = heads.read(bytes);
        const { url, headers, from, to } = read ?? {};
        expect(read && { url, headers: { ...headers }, from, to }).toEqual(readAlone(bytes));
        if (read && !read.sameHeaders && read.headers === last) replaced++;
        last = read?.headers;
        if (!read?.sameHeaders) continue;
        repeated++;
        const same = { ...headers, "content-length": "" };
        expect(known.get(read.sameHeaders) ?? same).toEqual(same);
        known.set(read.sameHeaders, same);
      }
    }),
    { numRuns: 4_000 },
  );
  expect(repeated).toBeGreaterThan(500);
  expect(replaced).toBeGreaterThan(500);
});

test("a client that repeats them is authenticated each time", async () => {
  const operatorKey = "operator-key-of-the-repeated-heads-test";
  const gateway = await startTestGateway({ operatorKey });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const sockets = new Set<unknown>();
  /** Says one more thing than the one before, by the only connection. */
  let said = "";
  const ask = (secret: string, path = "/v1/chat/completions") =>
    new Promise<[number | undefined, string | undefined]>((resolve, reject) => {
      said += "more ";
      const body = JSON.stringify({ model: "embedded-chat", messages: [{ role: "user", content: said }] });
      const headers = { authorization: `Bearer ${secret}`, "content-length": body.length };
      const asking = request({ port: gateway.port, agent, method: "POST", path, headers });
      asking.on("error", reject).on("response", async (response) => {
        sockets.add(response.socket);
        const json = JSON.parse(await text(response)) as { error?: { code: string } };
        resolve([response.statusCode, json.error?.code]);
      });
      asking.end(body);
    });
  try {
    for (let i = 0; i < 4; i++) expect(await ask(gateway.apiKey)).toEqual([200, undefined]);
    // Another process takes the key away, and gives another.
    const other = await gateway.database.open();
    await other.keys.revoke(gateway.keyId, now);
    const issued = await issueKey(other.keys, { accountId: gateway.accountId, name: "other", admin: false, now });
    await other.close();
    for (let i = 0; i < 2; i++) expect(await ask(gateway.apiKey)).toEqual([401, "invalid_api_key"]);
    for (let i = 0; i < 4; i++) expect(await ask(issued.secret)).toEqual([200, undefined]);
    for (let i = 0; i < 4; i++) expect((await ask(operatorKey))[0]).toBe(403);
    expect((await ask(issued.secret))[0]).toBe(200);
    expect(sockets.size).toBe(1);
  } finally {
    agent.destroy();
    await gateway.close();
  }
});
