/**
 * A form is read as the JSON that its client would have sent, whichever encoder wrote it, and with the same verdict.
 */
import querystring from "node:querystring";
import type { DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import fc from "fast-check";
import OpenAI from "openai";
import { describe, expect, test, vi } from "vitest";
import { CreateChatCompletionRequestSchema as chat } from "../../../gen/modelgateway/v1/chat_pb.ts";
import { CreateCompletionRequestSchema as completion } from "../../../gen/modelgateway/v1/completions_pb.ts";
import { CreateEmbeddingsRequestSchema as embeddings } from "../../../gen/modelgateway/v1/embeddings_pb.ts";
import { CreateKeyRequestSchema as newKey } from "../../../gen/modelgateway/v1/keys_pb.ts";
import { CreateMessageRequestSchema as messages } from "../../../gen/modelgateway/v1/messages_pb.ts";
import { CreateResponseRequestSchema as responses } from "../../../gen/modelgateway/v1/responses_pb.ts";
import { CreateSpeechRequestSchema as speech } from "../../../gen/modelgateway/v1/speech_pb.ts";
import { anyRoom } from "../../../src/call/call.ts";
import { asRefusal, Reason, Refusal } from "../../../src/call/refusals.ts";
import { requestOf } from "../../../src/doors/body/body.ts";
import { readForm, readMultipart } from "../../../src/doors/body/form.ts";
import { createValidate } from "../../../src/pipeline/check/validate.ts";
import { Wire } from "../../../src/wire/wire.ts";

const schemas = [chat, completion, embeddings, speech];
const validate = createValidate();

function form(desc: DescMessage, text: string): JsonObject {
  return readForm(desc, Buffer.from(text));
}

/** Returns the message that a request becomes, or how it is refused. */
function verdict(desc: DescMessage, read: () => JsonObject): unknown {
  try {
    const wire = Wire.ofJson(desc, read());
    validate(wire);
    return wire.message();
  } catch (error) {
    const { reason, status, param } = asRefusal(error);
    return { refused: reason, status, param };
  }
}

type Row = readonly [desc: DescMessage, text: string, expected: JsonObject];

function readsAll(rows: Readonly<Record<string, Row>>): void {
  for (const [name, [desc, text, expected]] of Object.entries(rows)) {
    test(name, () => expect(form(desc, text)).toEqual(expected));
  }
}

describe("reads the examples of the contract:", () => {
  readsAll({
    "a completion with a streamed answer": [
      completion,
      "model=m&prompt=1+%2B+1&max_tokens=5&stream=True",
      { model: "m", prompt: "1 + 1", max_tokens: 5, stream: true },
    ],
    "a repeated key as a list": [embeddings, "model=m&input=a&input=b", { model: "m", input: ["a", "b"] }],
    "one item in brackets as a list of one": [embeddings, "model=m&input%5B%5D=a", { model: "m", input: ["a"] }],
    "digits as a text": [embeddings, "model=m&input=007", { model: "m", input: "007" }],
    "a number with decimals": [
      speech,
      "model=t&input=hi&voice=alloy&speed=1.25",
      { model: "t", input: "hi", voice: "alloy", speed: 1.25 },
    ],
    "nulls of the OpenAI SDK": [completion, "model=m&prompt=x&stop=&stream_options=", { model: "m", prompt: "x" }],
    "an object in brackets": [
      completion,
      "stream_options%5Binclude_usage%5D=true",
      { stream_options: { include_usage: true } },
    ],
    "no body": [completion, "", {}],
  });
});

describe("reads what encoders write:", () => {
  const asked = { model: "m", prompt: ["a", "b & c", "ü=1"], max_tokens: 5, echo: true, temperature: 0.5 };

  readsAll({
    URLSearchParams: [
      completion,
      new URLSearchParams({ model: "m", prompt: "a&b=c+d%", max_tokens: "5", echo: "true", stop: "null" }).toString(),
      { model: "m", prompt: "a&b=c+d%", max_tokens: 5, echo: true, stop: "null" },
    ],
    "URLSearchParams, null in fields that are no text": [
      completion,
      new URLSearchParams({ prompt: "null", max_tokens: "null", stream: "null", logit_bias: "null" }).toString(),
      { prompt: "null", max_tokens: null, stream: null, logit_bias: null },
    ],
    "node:querystring": [completion, querystring.stringify(asked), asked],
    "node:querystring, empty for null": [
      completion,
      querystring.stringify({ prompt: "x", max_tokens: null, stop: undefined, seed: null, echo: null } as never),
      { prompt: "x" },
    ],
    "PHP http_build_query": [
      completion,
      "model=m&prompt%5B0%5D=a&prompt%5B1%5D=b&echo=1&stream=0&logit_bias%5B50256%5D=-100&temperature=0.5",
      { model: "m", prompt: ["a", "b"], echo: true, stream: false, logit_bias: { 50256: -100 }, temperature: 0.5 },
    ],
    "Python requests": [
      completion,
      "model=m&prompt=a&prompt=b+c&echo=True&stream=False&max_tokens=7",
      { model: "m", prompt: ["a", "b c"], echo: true, stream: false, max_tokens: 7 },
    ],
    "Python httpx": [
      embeddings,
      "model=m&input=a&input=b&dimensions=&user=",
      { model: "m", input: ["a", "b"], user: "" },
    ],
    "curl --data-urlencode, with a raw line break": [
      completion,
      "prompt=a%0Ab\nc&stream=on",
      { prompt: "a\nb\nc", stream: true },
    ],
    "lists as JSON text": [
      completion,
      `stop=${encodeURIComponent('["x"]')}&models=${encodeURIComponent('["a","b"]')}`,
      { stop: ["x"], models: ["a", "b"] },
    ],
    "objects as JSON text": [
      completion,
      `logit_bias=${encodeURIComponent('{"5": 1.5}')}&stream_options=${encodeURIComponent(' {"include_usage":true}')}`,
      { logit_bias: { 5: 1.5 }, stream_options: { include_usage: true } },
    ],
    "a conversation, by brackets": [
      chat,
      "messages[0][role]=user&messages[0][content]=Hi&messages[1][role]=user&messages[1][content]=true&n=2",
      {
        messages: [
          { role: "user", content: "Hi" },
          { role: "user", content: "true" },
        ],
        n: 2,
      },
    ],
    "a conversation, as JSON text": [
      chat,
      `messages=${encodeURIComponent('[{"role":"user","content":"Hi"}]')}&modalities=text`,
      { messages: [{ role: "user", content: "Hi" }], modalities: ["text"] },
    ],
    "a voice by its id": [speech, "voice[id]=v1&response_format=wav", { voice: { id: "v1" }, response_format: "wav" }],
    "a voice by its id, as JSON text": [speech, 'voice={"id":"v1"}&speed=', { voice: { id: "v1" } }],
  });

  test("the OpenAI SDK, set to send a form", async () => {
    const bodies: string[] = [];
    const fetch = async (_: unknown, init?: { body?: unknown }) => {
      bodies.push(String(init?.body));
      return Response.json({ id: "", object: "text_completion", created: 0, model: "m", choices: [] });
    };
    const client = new OpenAI({ apiKey: "sk-x", baseURL: "http://gateway.test/v1", fetch, maxRetries: 0 });
    const options = { headers: { "content-type": "application/x-www-form-urlencoded" } };
    const request = { ...asked, logit_bias: { "50256": -100 }, stop: ["x", "[y]"], seed: 7 } as const;
    await client.completions.create(
      { ...request, prompt: [...asked.prompt], stop: [...request.stop], stream: false },
      options,
    );
    await client.completions.create({ model: "m", prompt: "x", echo: null, stop: null, stream_options: null }, options);
    expect(bodies[0]).toContain("prompt%5B%5D=a&");
    expect(form(completion, bodies[0] as string)).toEqual({ ...request, stream: false });
    expect(form(completion, bodies[1] as string)).toEqual({ model: "m", prompt: "x" });
  });
});

describe("reads keys:", () => {
  readsAll({
    "indices by their number": [completion, "prompt[10]=c&prompt[9]=b&prompt[0]=a", { prompt: ["a", "b", "c"] }],
    "plain keys and brackets as one list": [completion, "prompt=a&prompt[]=b&prompt=c", { prompt: ["a", "b", "c"] }],
    "indexed items before others": [completion, "prompt[]=c&prompt[1]=b&prompt[0]=a", { prompt: ["a", "b", "c"] }],
    "lists of tokens by two indices": [
      completion,
      "prompt[0][1]=2&prompt[0][0]=1&prompt[1][0]=3",
      { prompt: [[1, 2], [3]] },
    ],
    "unpaired brackets as part of a name": [
      completion,
      "a[b=1&c]=2&d[e]f=3&[g]=4",
      { "a[b": "1", "c]": "2", "d[e]f": "3", "[g]": "4" },
    ],
    "the parts of a message": [
      chat,
      "messages[0][role]=user&messages[0][content][0][type]=image_url&messages[0][content][0][image_url][url]=https://a.test/b.png",
      {
        messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: "https://a.test/b.png" } }] }],
      },
    ],
    "large numbers as members of an object": [
      completion,
      "logit_bias[100257]=1&logit_bias[5]=-1",
      { logit_bias: { 100257: 1, 5: -1 } },
    ],
    "fields that no schema names as texts": [
      completion,
      "top_k=5&min_p=0.1&a[]=1&b[1]=y&b[0]=x&c[d][e]=true&g=2",
      { top_k: "5", min_p: "0.1", a: ["1"], b: ["x", "y"], c: { d: { e: "true" } }, g: "2" },
    ],
    "empty pairs as nothing": [completion, "&&=x&prompt=a&&=", { prompt: "a" }],
    "an empty object beside its members": [
      completion,
      "stream_options=&stream_options[include_usage]=1",
      { stream_options: { include_usage: true } },
    ],
  });
});

describe("reads texts:", () => {
  readsAll({
    "as they come": [
      completion,
      "prompt=++x%20&user=null&suffix=true",
      { prompt: "  x ", user: "null", suffix: "true" },
    ],
    "an invalid escape as itself": [
      completion,
      "prompt=100%&suffix=%zz%4&user=%41%e4%b8%96",
      { prompt: "100%", suffix: "%zz%4", user: "A世" },
    ],
    "an empty prompt as the empty text": [completion, "prompt=", { prompt: "" }],
    "with an equals sign in them": [completion, "prompt=a=b=c", { prompt: "a=b=c" }],
    "that only look like lists": [
      completion,
      `prompt=${encodeURIComponent("[1] see note")}`,
      { prompt: "[1] see note" },
    ],
    "that are an empty list": [completion, "prompt=[]", { prompt: "[]" }],
    "that look like a list": [completion, 'prompt=["a","b"]', { prompt: '["a","b"]' }],
    "that look like a list, in brackets": [completion, 'prompt[]=["a","b"]', { prompt: ['["a","b"]'] }],
    "to embed that look like a list": [embeddings, 'input=["a","b"]', { input: '["a","b"]' }],
    "to speak that look like a list": [speech, 'input=["a","b"]', { input: '["a","b"]' }],
    "that look like an object, or nothing": [
      completion,
      'prompt={"a":1}&suffix=null',
      { prompt: '{"a":1}', suffix: "null" },
    ],
    "of a conversation that look like parts": [
      chat,
      'messages[0][role]=user&messages[0][content]=[{"type":"text","text":"a"}]',
      { messages: [{ role: "user", content: '[{"type":"text","text":"a"}]' }] },
    ],
    "to answer that look like items": [
      responses,
      'input=[{"role":"user","content":"a"}]',
      { input: '[{"role":"user","content":"a"}]' },
    ],
    "of a system that look like parts": [
      messages,
      'system=[{"type":"text","text":"a"}]',
      { system: '[{"type":"text","text":"a"}]' },
    ],
    "that are a list of mixed kinds": [completion, 'prompt=["a",1]', { prompt: '["a",1]' }],
    "that are a list where only texts may be": [completion, "stop=[1]", { stop: "[1]" }],
    "that look like tokens": [completion, "prompt=[1,2]", { prompt: "[1,2]" }],
    "that are no tokens": [completion, "prompt=[1,2.5]", { prompt: "[1,2.5]" }],
    "that begin as tokens": [completion, 'prompt=[1,"a"]', { prompt: '[1,"a"]' }],
    "that look like lists of tokens": [completion, "prompt=[[1,2],[3]]", { prompt: "[[1,2],[3]]" }],
    "that look like lists in a list": [completion, "prompt[]=[1,2]&prompt[]=x", { prompt: ["[1,2]", "x"] }],
  });
});

describe("reads values by the type of their field:", () => {
  const truths = {
    true: ["true", "True", "TRUE", "1", "on", "On", "yes", "Yes", "YES", "y", "Y", "t", "+true+", "%09yes"],
    false: ["false", "False", "FALSE", "0", "off", "OFF", "no", "No", "n", "N", "f"],
    null: ["null"],
  };
  for (const [value, texts] of Object.entries(truths)) {
    for (const text of texts) {
      test(`${text} as ${value}`, () => expect(form(completion, `echo=${text}`)).toEqual({ echo: JSON.parse(value) }));
    }
  }

  const numbers: Readonly<Record<string, readonly string[]>> = {
    "5": ["5", "+5+", "05", "005", "%2B5", "+5", "5.", "5.0", "5e0", "%2B05.00"],
    "0.5": [".5", "%2B.5", "0.5", "00.5", "5e-1", ".5E0", "+.5"],
    "-0.5": ["-.5", "-0.5", "-00.50"],
    "100": ["1e2", "1e%2B2", "100."],
    "0": ["0", "00", "-0", "0.", ".0"],
  };
  for (const [value, texts] of Object.entries(numbers)) {
    for (const text of texts) {
      test(`${text} as the number ${value}`, () => {
        expect((form(completion, `top_p=${text}`).top_p as number) + 0).toBe(Number(value));
        expect((form(completion, `logit_bias[5]=${text}`).logit_bias as JsonObject)["5"]).toEqual(
          Number(text === "-0" ? -0 : value),
        );
      });
    }
  }

  for (const text of [
    "0x10",
    "1,000",
    "1_000",
    "1 000",
    "--1",
    "+-1",
    ".",
    "%2B",
    "e5",
    "1e",
    "Infinity",
    "NaN",
    "٣",
    "1.2.3",
  ]) {
    test(`${text} as no number`, () => {
      expect(typeof form(completion, `top_p=${encodeURIComponent(decodeURIComponent(text))}`).top_p).toBe("string");
    });
  }

  const amounts = { ".5": "0.5", "%2B1": "1", "+1": "1", "05": "05", "5.": "5", "-.5": "-0.5", "0.000001": "0.000001" };
  for (const [text, expected] of Object.entries(amounts)) {
    test(`${text} as the amount ${expected}`, () => {
      expect(form(newKey, `credit_limit=${text}`)).toEqual({ credit_limit: expected });
    });
  }

  for (const text of [".", "1e3", "1,5", "%2B", "five"]) {
    test(`${text} as no amount`, () => {
      expect(verdict(newKey, () => form(newKey, `name=k&credit_limit=${text}`))).toMatchObject({
        status: 400,
        param: "credit_limit",
      });
    });
  }

  readsAll({
    "a word between blanks": [embeddings, "encoding_format=%20float%0D%0A", { encoding_format: "float" }],
    "a format with a line break behind it": [speech, "response_format=opus%0A", { response_format: "opus" }],
    "a moment between blanks": [newKey, "expires_at=+2030-01-31T12:00:00Z%0A", { expires_at: "2030-01-31T12:00:00Z" }],
    "an empty model as none": [completion, "model=&prompt=a", { prompt: "a" }],
    "a model of blanks as none": [embeddings, "model=+%09&input=a", { input: "a" }],
    "an empty model in multipart's words, and other empty texts as they are": [
      speech,
      "model=&input=&user=",
      { input: "", user: "" },
    ],
    "models with commas as a list": [completion, "models=a,+b+,,c", { models: ["a", "b", "c"] }],
    "models with commas, several times": [completion, "models=a,b&models=c", { models: ["a", "b", "c"] }],
    "models with commas, in brackets": [completion, "models[]=a,b", { models: ["a", "b"] }],
    "one model as a list": [completion, "models=a", { models: ["a"] }],
    "a key's models with commas": [newKey, "name=k&models=a,family:b", { name: "k", models: ["a", "family:b"] }],
    "a key's only model as it is": [newKey, "models=a", { models: "a" }],
    "a key's models as JSON": [newKey, 'models=["a","b"]', { models: ["a", "b"] }],
    "commas alone as no list": [newKey, "models=,,", { models: ",," }],
    "no models as a text that says so": [newKey, "models=", { models: "" }],
    "commas elsewhere as they are": [
      completion,
      "stop=a,b&prompt=a,b&user=a,b",
      { stop: "a,b", prompt: "a,b", user: "a,b" },
    ],
  });

  test("an empty form as no fields", () => {
    const empty = "max_tokens=&temperature=&stream=&logit_bias=&stream_options=&stop=";
    expect(form(completion, empty)).toEqual({});
    expect(form(embeddings, "encoding_format=&dimensions=")).toEqual({});
    expect(form(chat, "tools=&modalities=&tool_choice=")).toEqual({});
  });
});

describe("refuses as JSON is refused:", () => {
  const refused: Record<string, readonly [DescMessage, text: string, json: JsonObject, param: string]> = {
    "a text for a whole number": [completion, "max_tokens=abc", { max_tokens: "abc" }, "max_tokens"],
    "a fraction for a whole number": [completion, "max_tokens=1.5", { max_tokens: 1.5 }, "max_tokens"],
    "a negative bound": [completion, "max_tokens=-1", { max_tokens: -1 }, "max_tokens"],
    hexadecimal: [completion, "max_tokens=0x10", { max_tokens: "0x10" }, "max_tokens"],
    Infinity: [completion, "temperature=Infinity", { temperature: "Infinity" }, "temperature"],
    "a number too large for a double": [completion, "temperature=1e999", { temperature: Infinity }, "temperature"],
    "a seed that a double cannot hold": [completion, "seed=9007199254740993", { seed: 2 ** 53 }, "seed"],
    undefined: [completion, "max_tokens=undefined", { max_tokens: "undefined" }, "max_tokens"],
    "perhaps for true": [completion, "stream=perhaps", { stream: "perhaps" }, "stream"],
    "keys alone for an object": [
      completion,
      "stream_options=include_usage",
      { stream_options: "include_usage" },
      "stream_options",
    ],
    "[object Object]": [completion, "logit_bias=[object+Object]", { logit_bias: "[object Object]" }, "logit_bias"],
    "a list for an object": [completion, "stream_options[]=a", { stream_options: ["a"] }, "stream_options"],
    "a list for a scalar": [completion, "model[]=a", { model: ["a"] }, "model"],
    "an object for a scalar": [completion, "max_tokens[a]=1", { max_tokens: { a: "1" } }, "max_tokens"],
    "an object for a list": [completion, "prompt[a]=1", { prompt: { a: "1" } }, "prompt"],
    "an unknown word": [embeddings, "encoding_format=int8", { encoding_format: "int8" }, "encoding_format"],
    "a fault inside an object": [
      completion,
      "stream_options[include_usage]=perhaps",
      { stream_options: { include_usage: "perhaps" } },
      "stream_options.include_usage",
    ],
    "a fault inside a map": [completion, "logit_bias[5]=x", { logit_bias: { 5: "x" } }, "logit_bias.5"],
    "a fault inside a list": [completion, "prompt[0][0]=x", { prompt: [["x"]] }, "prompt[0][0]"],
    "an empty token": [completion, "prompt[0][]=", { prompt: [[null]] }, "prompt[0][0]"],
    "a fault inside JSON text": [
      chat,
      'messages=[{"role":"user","content":5}]',
      { messages: [{ role: "user", content: 5 }] },
      "messages[0].content",
    ],
    "a number out of bounds": [completion, "temperature=3", { temperature: 3 }, "temperature"],
    "too fast a voice": [
      speech,
      "model=m&input=x&voice=alloy&speed=4.1",
      { model: "m", input: "x", voice: "alloy", speed: 4.1 },
      "speed",
    ],
  };

  for (const [name, [desc, text, json, param]] of Object.entries(refused)) {
    test(name, () => {
      const expected = verdict(desc, () => json);
      expect(expected).toMatchObject({ status: 400, param });
      expect(verdict(desc, () => form(desc, text))).toEqual(expected);
    });
  }
});

describe("refuses forms that are broken or too large:", () => {
  const refused: Record<string, readonly [text: string | Buffer, reason: number, param?: string]> = {
    "more than 4096 pairs": [`${"a=1&".repeat(4096)}b=1`, Reason.MALFORMED_BODY],
    "more than 8 levels": ["a[b][c][d][e][f][g][h][i]=1", Reason.MALFORMED_BODY],
    "an index above 4095": ["prompt[4096]=a", Reason.MALFORMED_BODY],
    "an index beyond all numbers": [`prompt[${"9".repeat(400)}]=a`, Reason.MALFORMED_BODY],
    "the name __proto__": ["__proto__[a]=1", Reason.MALFORMED_BODY],
    "__proto__ within": ["a[__proto__][b]=1", Reason.MALFORMED_BODY],
    "__proto__ in escapes": ["logit_bias[%5F_proto__]=1", Reason.MALFORMED_BODY],
    "the name constructor": ["constructor=1", Reason.MALFORMED_BODY],
    "the name prototype": ["a[prototype]=1", Reason.MALFORMED_BODY],
    "what is no UTF-8": ["prompt=%FF", Reason.MALFORMED_BODY],
    "bytes that are no UTF-8": [Buffer.from([0x61, 0x3d, 0xc3, 0x28]), Reason.MALFORMED_BODY],
    "an escaped surrogate": ["prompt=%ED%A0%80", Reason.MALFORMED_BODY],
    "a text beside the members of an object": [
      "stream_options=x&stream_options[include_usage]=1",
      Reason.MALFORMED_BODY,
    ],
    "lists of lists that do not say which is which": ["prompt[][]=1&prompt[][]=2", Reason.INVALID_VALUE, "prompt"],
  };

  for (const [name, [body, reason, param]] of Object.entries(refused)) {
    test(name, () =>
      expect(refusalOf(() => readForm(completion, Buffer.from(body as string)))).toMatchObject({
        reason,
        param,
        status: 400,
      }),
    );
  }

  test("takes what is just inside the limits", () => {
    expect(form(completion, "a[]=1&".repeat(4096))).toEqual({ a: Array(4096).fill("1") });
    expect(form(completion, "a[b][c][d]=1&prompt[4095]=z")).toEqual({ a: { b: { c: { d: "1" } } }, prompt: ["z"] });
  });

  test("never quotes the form", () => {
    for (const text of [
      "prompt=sesame%FF",
      "sesame[__proto__]=sesame",
      "a[4096]=sesame",
      "stop=sesame&stop[a]=sesame",
    ]) {
      expect(refusalOf(() => form(completion, text)).message).not.toContain("sesame");
    }
  });
});

function refusalOf(act: () => unknown): Refusal {
  try {
    act();
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

describe("multipart that can be read in two ways is refused", () => {
  const part = (head: string) => Buffer.from(`--b\r\n${head}\r\n\r\nx\r\n--b--\r\n`);
  test.each([
    [
      "a part with two dispositions",
      'content-disposition: form-data; name="a"\r\nContent-Disposition: form-data; name="b"',
    ],
    ["a text in base64", 'content-disposition: form-data; name="a"\r\nContent-Transfer-Encoding: base64'],
    ["a disposition with two names", 'content-disposition: form-data; name="a"; NAME=b'],
  ])("%s", (_, head) => {
    expect(() => readMultipart(completion, "multipart/form-data; boundary=b", part(head))).toThrow(
      /breaks its own rules|content-transfer-encoding/,
    );
  });
});

describe("multipart/form-data", () => {
  async function multipart(desc: DescMessage, fields: FormData): Promise<JsonObject> {
    const request = new Response(fields);
    return readMultipart(desc, request.headers.get("content-type") ?? "", Buffer.from(await request.arrayBuffer()));
  }

  const written = (...lines: string[]) => Buffer.from(lines.join("\r\n"));
  const field = 'Content-Disposition: form-data; name="model"';

  test("is read like any form", async () => {
    const fields = new FormData();
    for (const [key, text] of [
      ["model", "tts-1"],
      ["input", 'a\r\n--b\r\n"世" 👋'],
      ["voice", "nova"],
      ["speed", "1.5"],
    ]) {
      fields.append(key as string, text as string);
    }
    const expected = { model: "tts-1", input: 'a\r\n--b\r\n"世" 👋', voice: "nova", speed: 1.5 };
    expect(await multipart(speech, fields)).toEqual(expected);
  });

  test("may have lists, objects and names that need escapes", async () => {
    const fields = new FormData();
    for (const text of ["a", "", "b"]) fields.append("prompt[]", text);
    fields.append("stream_options[include_usage]", "true");
    fields.append('a "quoted"\r\nname', "x");
    expect(await multipart(completion, fields)).toEqual({
      prompt: ["a", "", "b"],
      stream_options: { include_usage: true },
      'a "quoted"\r\nname': "x",
    });
  });

  test("may be empty", async () => {
    expect(await multipart(completion, new FormData())).toEqual({});
    expect(readMultipart(completion, "multipart/form-data; boundary=b", Buffer.alloc(0))).toEqual({});
  });

  test("is read with a preamble, an epilogue, padding, a quoted boundary and unquoted names", () => {
    const header = "Content-Type: text/plain; charset=utf-8\r\ncontent-disposition:form-data; name=model";
    const body = written(
      "preamble",
      "--b o  ",
      header,
      "",
      "m",
      `--b o`,
      field.replace("model", "user"),
      "",
      "",
      "--b o--",
      "end",
    );
    expect(readMultipart(completion, 'multipart/form-data; charset=utf-8; Boundary="b o"', body)).toEqual({
      model: "m",
      user: "",
    });
  });

  test("is refused with a file in it", async () => {
    const fields = new FormData();
    fields.append("input", new File(["x"], "x.txt"));
    const refusal = await multipart(speech, fields).catch((error) => error);
    expect(refusal).toBeInstanceOf(Refusal);
    expect(refusal).toMatchObject({ status: 415, reason: Reason.UNSUPPORTED_MEDIA_TYPE });
  });

  for (const [name, type, body] of [
    ["without a boundary in its type", "multipart/form-data", written("--b", field, "", "m", "--b--")],
    ["without its boundary in the body", "multipart/form-data; boundary=c", written("--b", field, "", "m", "--b--")],
    ["cut off in a field", "multipart/form-data; boundary=b", written("--b", field, "", "m")],
    ["cut off in a header", "multipart/form-data; boundary=b", written("--b", field)],
    [
      "with a field that has no name",
      "multipart/form-data; boundary=b",
      written("--b", "Content-Disposition: form-data", "", "m", "--b--"),
    ],
    ["with a field that has no header", "multipart/form-data; boundary=b", written("--b", "", "m", "", "--b--")],
    [
      "with bytes that are no UTF-8",
      "multipart/form-data; boundary=b",
      Buffer.concat([written("--b", field, "", ""), Buffer.from([0xff]), written("", "--b--")]),
    ],
    [
      "with headers without end",
      "multipart/form-data; boundary=b",
      written("--b", field, `X: ${"x".repeat(20_000)}`, "", "m", "--b--"),
    ],
  ] as const) {
    test(`is refused ${name}`, () => {
      const refusal = refusalOf(() => readMultipart(completion, type, body));
      expect(refusal).toMatchObject({ status: 400, reason: Reason.MALFORMED_BODY });
    });
  }
});

describe("a form and JSON give the same verdict:", () => {
  const text = fc.string({ unit: "binary", maxLength: 12 }).map((value) => value.toWellFormed());
  // One text that is the JSON of a list of stops is meant as the list, and a model of blanks is none.
  const plainText = text.filter((value) => !value.startsWith("["));
  const texts = fc.array(text, { minLength: 1, maxLength: 4 });
  const tokens = fc.array(fc.nat(100_000), { minLength: 1, maxLength: 4 });
  const scalar = {
    integer: fc.oneof(fc.integer({ min: -2, max: 200 }), fc.double()),
    double: fc.double({ noNaN: true, noDefaultInfinity: true }),
  };
  const request = fc.record(
    {
      model: text.filter((value) => value.trim() !== ""),
      prompt: fc.oneof(text, texts, fc.array(tokens, { minLength: 1, maxLength: 3 })),
      max_tokens: fc.integer({ min: -2, max: 200 }),
      n: fc.integer({ min: -2, max: 200 }),
      best_of: scalar.double,
      seed: fc.maxSafeInteger(),
      temperature: scalar.double,
      top_p: fc.double({ min: -1, max: 2, noNaN: true }),
      echo: fc.boolean(),
      stream: fc.boolean(),
      stop: fc.oneof(
        plainText.filter((value) => value !== ""),
        texts,
      ),
      stream_options: fc.record({ include_usage: fc.boolean() }),
      logit_bias: fc.dictionary(fc.nat(200_000).map(String), scalar.double, { minKeys: 1, maxKeys: 3 }),
      user: text,
      suffix: text,
      top_k: text,
    },
    { requiredKeys: [] },
  );

  const encodings = {
    "brackets with indices": (json: JsonObject) => encode(json, (key, i) => `${key}[${i}]`),
    "empty brackets": (json: JsonObject) => encode(json, (key, i, nested) => (nested ? `${key}[${i}]` : `${key}[]`)),
    // Of what a model reads lists are made by brackets alone.
    "lists and objects as JSON": ({ prompt, ...json }: JsonObject) =>
      [
        encode(prompt === undefined ? {} : { prompt }, (key, i) => `${key}[${i}]`),
        new URLSearchParams(
          Object.entries(json).map(([key, value]) => [key, typeof value === "string" ? value : JSON.stringify(value)]),
        ).toString(),
      ].join("&"),
  };

  function encode(json: JsonObject, keyOf: (key: string, i: number, nested: boolean) => string): string {
    const pairs = new URLSearchParams();
    const write = (key: string, value: JsonValue) => {
      if (Array.isArray(value))
        for (const [i, item] of value.entries()) write(keyOf(key, i, Array.isArray(item)), item);
      else if (typeof value === "object" && value)
        for (const name of Object.keys(value)) write(`${key}[${name}]`, value[name] as JsonValue);
      else pairs.append(key, String(value));
    };
    for (const key of Object.keys(json)) write(key, json[key] as JsonValue);
    return pairs.toString();
  }

  for (const [name, encoding] of Object.entries(encodings)) {
    test(name, () => {
      fc.assert(
        fc.property(request, (made) => {
          const json = JSON.parse(JSON.stringify(made)) as JsonObject;
          expect(verdict(completion, () => form(completion, encoding(json)))).toEqual(verdict(completion, () => json));
        }),
        { numRuns: 500 },
      );
    });
  }
});

describe("whatever arrives, only a Refusal is thrown:", () => {
  const pieces = fc.constantFrom(
    ...[
      "&",
      "=",
      "[",
      "]",
      "[]",
      "[0]",
      "[a]",
      "%",
      "%5B",
      "%FF",
      "+",
      "__proto__",
      "{",
      '{"a":1}',
      "[1,2]",
      "null",
      "true",
      "1e9",
    ],
    ...[
      "prompt",
      "stop",
      "messages",
      "stream_options",
      "logit_bias",
      "max_tokens",
      "model",
      "input",
      "voice",
      "tools",
      "x",
    ],
  );
  const bodies = fc.oneof(
    fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    fc.array(pieces, { maxLength: 40 }).map((parts) => Buffer.from(parts.join(""))),
  );
  const parts = fc.constantFrom(
    ...[
      "--b",
      "--",
      "\r\n",
      "\r\n\r\n",
      "--b--",
      'Content-Disposition: form-data; name="prompt"',
      "; filename=x",
      "x",
      "é",
    ],
  );

  function readOrRefused(read: () => JsonObject): JsonObject | undefined {
    try {
      return read();
    } catch (error) {
      expect(error).toBeInstanceOf(Refusal);
      return undefined;
    }
  }

  test("as a form", () => {
    fc.assert(
      fc.property(fc.constantFrom(...schemas), bodies, (desc, body) => {
        const json = readOrRefused(() => readForm(desc, body));
        if (!json) return;
        // What is read is JSON, and is then read or refused as JSON is.
        expect(JSON.parse(JSON.stringify(json))).toEqual(json);
        expect(verdict(desc, () => json)).not.toMatchObject({ refused: Reason.INTERNAL });
      }),
      { numRuns: 5000 },
    );
  });

  test("as multipart", () => {
    const type = "multipart/form-data; boundary=b";
    const body = fc.oneof(
      fc.uint8Array({ maxLength: 100 }).map((bytes) => Buffer.from(bytes)),
      fc.array(parts, { maxLength: 20 }).map((some) => Buffer.from(`--b\r\n${some.join("")}`)),
    );
    fc.assert(
      fc.property(body, fc.oneof(fc.constant(type), fc.string()), (bytes, contentType) => {
        readOrRefused(() => readMultipart(completion, contentType, bytes));
      }),
      { numRuns: 5000 },
    );
  });
});

test("a form has 256 KiB at most, and JSON that was declared as one may have more", () => {
  const types = ["application/x-www-form-urlencoded", "multipart/form-data; boundary=b"];
  const ofLength = (length: number) => Buffer.from(`prompt=${"a".repeat(length - "prompt=".length)}`);
  for (const type of types) {
    const tooLong = refusalOf(() => requestOf(completion, type, ofLength(262_145), anyRoom));
    expect(tooLong).toMatchObject({ reason: Reason.REQUEST_TOO_LARGE, status: 413 });
  }
  const [urlencoded] = types;
  expect(requestOf(completion, urlencoded, ofLength(262_144), anyRoom).json().prompt).toHaveLength(262_137);
  const json = Buffer.from(JSON.stringify({ prompt: "a".repeat(300_000) }));
  expect(requestOf(completion, urlencoded, json, anyRoom).json().prompt).toHaveLength(300_000);
});

test("large forms are read in time in proportion to their size", () => {
  const started = performance.now();
  const text = `prompt=${"%41+".repeat(1_000_000)}`;
  expect((form(completion, text).prompt as string).length).toBe(2_000_000);
  expect(() => form(completion, `prompt${"[a]".repeat(500_000)}=1`)).toThrow(Refusal);
  expect(() => form(completion, `prompt${"[".repeat(1_000_000)}=1`)).toThrow(Refusal);
  // Time in proportion to the square of it would be minutes on any machine.
  expect(performance.now() - started).toBeLessThan(20_000);
});

describe("a form that is nothing but", () => {
  const cases: Readonly<Record<string, string>> = {
    "empty pairs": "&".repeat(4097),
    "pairs without a name": "=&".repeat(4097),
    "one name of brackets": `a${"[]".repeat(4_000_000)}=1`,
    "one long name": "a".repeat(5000),
  };
  for (const [name, text] of Object.entries(cases)) {
    test(`${name} is refused`, () => {
      expect(verdict(completion, () => form(completion, text))).toMatchObject({
        refused: Reason.MALFORMED_BODY,
        status: 400,
      });
    });
  }

  test("opening brackets is a text, and is not parsed", () => {
    const text = "[".repeat(2_000_000);
    const parse = vi.spyOn(JSON, "parse");
    try {
      expect(form(embeddings, `input=${text}`)).toEqual({ input: text });
      expect(parse).not.toHaveBeenCalled();
    } finally {
      parse.mockRestore();
    }
  });

  test("empty pairs among others means what the others mean", () => {
    expect(form(completion, "&&model=m&&prompt=a&")).toEqual({ model: "m", prompt: "a" });
  });
});

test("JSON after a byte order mark is read as JSON, whatever its declared type", () => {
  const body = Buffer.from('\ufeff{"model":"m","prompt":"a"}');
  for (const type of ["application/json", "application/x-www-form-urlencoded", "text/plain", ""]) {
    const request = requestOf(completion, type, body, anyRoom);
    expect(request.json(), type).toEqual({ model: "m", prompt: "a" });
    expect(request.bytes().toString(), type).toBe('{"model":"m","prompt":"a"}');
  }
});

test("a form after a byte order mark has its first field", () => {
  const text = "\ufeffmodel=m&prompt=a";
  for (const type of ["application/x-www-form-urlencoded", "text/plain", ""])
    expect(requestOf(completion, type, Buffer.from(text), anyRoom).json(), type).toEqual({ model: "m", prompt: "a" });
  const parts = ["model", "m", "prompt", "a"].map((one, i) =>
    i % 2 === 0 ? `--B\r\nContent-Disposition: form-data; name="${one}"\r\n\r\n` : `${one}\r\n`,
  );
  const multipart = Buffer.from(`\ufeff${parts.join("")}--B--\r\n`);
  const request = requestOf(completion, "multipart/form-data; boundary=B", multipart, anyRoom);
  expect(request.json()).toEqual({ model: "m", prompt: "a" });
});

test("a list that was declared as a form is refused, and is no field of a request to the default model", () => {
  for (const type of ["application/x-www-form-urlencoded", "text/plain", ""]) {
    const read = () => validate(requestOf(completion, type, Buffer.from(' [{"model":"m","prompt":"a"}]'), anyRoom));
    expect(read, type).toThrow();
  }
});
