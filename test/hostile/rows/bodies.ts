/** Bodies within the limits whose reading costs more than their size: lists, nesting, members, escapes, parts. */
import { deflateSync } from "node:zlib";
import { ask, type Reply, tally } from "../raw.ts";
import { chatPath, faultsOf, largestBody, type Row, type Stage } from "../row.ts";

const embeddingsPath = "/v1/embeddings";

/** Fills the middle of a body with the same piece, as often as it has room. */
function filled(head: string, piece: string, tail: string, bytes = largestBody - 1_000): Buffer {
  const count = Math.floor((bytes - head.length - tail.length) / piece.length);
  return Buffer.concat([Buffer.from(head), Buffer.alloc(count * piece.length, piece), Buffer.from(tail)]);
}

const content = (head = "") => `{"model":"sink","max_tokens":5,"messages":[{"role":"user","content":"${head}`;
const closing = '"}]}';
const begin = `{"model":"sink","max_tokens":5,"messages":[`;
const user = '{"role":"user","content":"x"}';

/** Numbered members, which no reader can take for the same. */
function members(count: number): string {
  return Array.from({ length: count }, (_, i) => `"m${i}":1`).join(",");
}

/** A schema of as many properties, of six parts each. */
function schema(count: number): string {
  const properties = Array.from(
    { length: count },
    (_, i) => `"p${i}":{"type":"string","description":"x","enum":["x"]}`,
  );
  return `{"type":"object","properties":{${properties.join(",")}}}`;
}

const describedBy = (parameters: string) => `{"type":"function","function":{"name":"f","parameters":${parameters}}}`;
/** A schema that joins one of as many properties as often as is said. */
function referring(times: number, count: number): string {
  return `{"allOf":[${Array(times).fill('{"$ref":"#/$defs/long"}').join(",")}],"$defs":{"long":${schema(count)}}}`;
}

/** The items of a call and of its result. */
function calledItems(id: string): string {
  const named = `"call_id":"${id}"`;
  return `{"type":"function_call",${named},"name":"f","arguments":"{}"},{"type":"function_call_output",${named},"output":"x"}`;
}

const strict = `{"model":"strict","max_tokens":5,"messages":[`;
const markedPart = '{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}';
const call = '{"id":"call_0123456789","type":"function","function":{"name":"f","arguments":"{}"}}';
const formatOf = (format: string) => `{"type":"json_schema","json_schema":{"name":"x","schema":${format}}}`;

interface Work {
  readonly name: string;
  readonly attack: string;
  readonly path?: string;
  /** Whose key it is sent with. Default: rich. */
  readonly key?: "rich" | "poor";
  readonly headers?: Readonly<Record<string, string>>;
  readonly warm?: number;
  readonly growth?: number;
  /** Bodies that are sent one after another until the time is over. */
  readonly bodies: () => readonly (Buffer | string)[];
}

/** Sends bodies one after another, on two connections, for the time. */
async function sendAll(stage: Stage, work: Work): Promise<Reply[]> {
  const { port, keys } = stage.gateway;
  const { path = chatPath, key = "rich", headers = {} } = work;
  const bodies = work.bodies();
  const end = performance.now() + stage.ms;
  const replies: Reply[] = [];
  const one = async (first: number) => {
    for (let i = first; (performance.now() < end || i === first) && !stage.signal.aborted; i++) {
      const body = bodies[i % bodies.length] as Buffer;
      replies.push(await ask(port, { path, key: keys[key], body, headers }));
    }
  };
  await Promise.all([one(0), one(1)]);
  return replies;
}

const workRow = (work: Work): Row => ({
  ...{ name: work.name, item: 3, attack: work.attack, warm: work.warm ?? 0.1 },
  ...(work.growth !== undefined && { growth: work.growth }),
  holds: "no piece of work is long: it is refused at its bound, or cut into turns",
  async run(stage) {
    const replies = await sendAll(stage, work);
    const faults = faultsOf({ "a 500": replies.some(({ status }) => status === 500) });
    return { told: tally(replies.map(({ status }) => status)), faults };
  },
});

const form = { "content-type": "application/x-www-form-urlencoded" };
const multipart = { "content-type": "multipart/form-data; boundary=b" };
const part = (name: string) => `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\nx\r\n`;

/** A file in a part of a message. */
const document = (pdf: string | Buffer) =>
  `{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,${Buffer.from(pdf).toString("base64")}"}}`;
const withDocuments = (...pdfs: readonly (string | Buffer)[]) =>
  `${begin}{"role":"user","content":[${pdfs.map(document).join(",")}]}]}`;

/** A file of one page whose content takes a thousandth of its length. */
function packedPdf(bytes: number): Buffer {
  const packed = deflateSync(Buffer.alloc(bytes, "("));
  const page = "%PDF-1.7\n1 0 obj <</Type /Page /Contents 2 0 R>> endobj\n2 0 obj <</Filter /FlateDecode>>\nstream\n";
  return Buffer.concat([Buffer.from(page), packed, Buffer.from("\nendstream endobj")]);
}

const works: readonly Work[] = [
  {
    // The thread that reads documents has a heap of its own, which grows once.
    ...{ name: "documents", warm: 0.5 },
    attack: "PDFs of 12 MB full of numbers, of lists, of texts; 2,000 small ones that each unpack to a megabyte",
    bodies: () => [
      withDocuments(filled("%PDF-1.7 /Type /Page /Contents [", "1", "]", 11_900_000)),
      withDocuments(
        filled("%PDF-1.7 /Type /Page\n", `1 0 obj ${"/Filter[".repeat(1_000)}stream\nx\nendstream\n`, "", 11_900_000),
      ),
      withDocuments(filled("%PDF-1.7 /Type /Page\n", "(hello) Tj\n", "", 11_900_000)),
      withDocuments(...Array(2_000).fill(packedPdf(1_000_000))),
    ],
  },
  {
    ...{ name: "number-lists-poor", key: "poor", path: embeddingsPath },
    attack: "lists of numbers of 16 MB, by a key of the lowest tier without credit",
    bodies: () => [filled('{"model":"vector","input":[1', ",1", "]}")],
  },
  {
    ...{ name: "number-lists", path: embeddingsPath },
    attack: "lists of numbers, of lists of numbers and of short texts, of 16 MB",
    bodies: () => [
      filled('{"model":"vector","input":[1', ",1", "]}"),
      filled('{"model":"vector","input":[[1]', ",[1]", "]}"),
      filled('{"model":"vector","input":["a"', ',"a"', "]}"),
    ],
  },
  {
    ...{ name: "deep-nesting" },
    attack: "lists and objects eight million deep",
    bodies: () => [
      filled(`${begin}${user}],"x":`, "[", ""),
      filled(`${begin}${user}],"x":`, '{"a":', ""),
      filled(`{"model":`, "[", ""),
      Buffer.concat([
        filled(`${begin}${user}],"x":`, "[", "", largestBody / 2),
        Buffer.alloc(largestBody / 2 - 4_000, "]"),
        Buffer.from("}"),
      ]),
    ],
  },
  {
    ...{ name: "many-members" },
    attack: "a million members, at the top, in `metadata`, in `logit_bias` and in a schema",
    bodies: () => {
      const many = members(1_000_000);
      return [
        `${begin}${user}],${many}}`,
        `${begin}${user}],"metadata":{${many}}}`,
        `${begin}${user}],"logit_bias":{${many}}}`,
        `${begin}${user}],"tools":[{"type":"function","function":{"name":"f","parameters":{${many}}}}]}`,
      ];
    },
  },
  {
    ...{ name: "long-schemas" },
    attack:
      "functions and formats of 90,000 parts in schemas, for a model of another API: one of them, and three hundred",
    bodies: () => [
      `{"model":"ant","max_tokens":5,"messages":[${user}],"tools":[${describedBy(schema(15_000))}]}`,
      `{"model":"ant","max_tokens":5,"messages":[${user}],"tools":[${Array(300)
        .fill(describedBy(schema(50)))
        .join(",")}]}`,
      `{"model":"ant","max_tokens":5,"messages":[${user}],"response_format":${formatOf(schema(15_000))}}`,
    ],
  },
  {
    ...{ name: "fitted-requests" },
    attack:
      "functions, messages, parts and calls in their thousands, and references to a long schema, for servers that take them otherwise",
    bodies: () => [
      `${strict}${user}],"tools":[${Array(200)
        .fill(describedBy(schema(50)))
        .join(",")}]}`,
      `${strict}${Array(9_000).fill(`{"role":"system","content":"x"},${user}`).join(",")}]}`,
      `${strict}{"role":"user","content":[${Array(15_000).fill(markedPart).join(",")}]}]}`,
      `${strict}{"role":"assistant","tool_calls":[${Array(9_000).fill(call).join(",")}]}]}`,
      `{"model":"rooted","max_tokens":5,"messages":[${user}],"tools":[${describedBy(referring(190, 15_000))}]}`,
      `{"model":"ant","max_tokens":5,"messages":[${user}],"tools":[${describedBy(referring(190, 15_000))}]}`,
    ],
  },
  {
    ...{ name: "many-items", path: "/v1/responses" },
    attack: "thousands of items, parts, calls and functions to be translated for chat and for messages",
    bodies: () =>
      ["sink", "ant", "strict"].flatMap((model) => {
        const beginning = `{"model":"${model}","max_output_tokens":20,"input":[`;
        return [
          `${beginning}${Array(9_000).fill(`{"role":"developer","content":"x"},${user}`).join(",")}]}`,
          `${beginning}{"role":"user","content":[${Array(25_000).fill('{"type":"input_text","text":"x"}').join(",")}]}]}`,
          `${beginning}${Array.from({ length: 6_000 }, (_, i) => calledItems(`c${i}`)).join(",")}]}`,
          `${beginning}${user}],"tools":[${Array(200)
            .fill(`{"type":"function","name":"f","parameters":${schema(50)}}`)
            .join(",")}]}`,
        ];
      }),
  },
  {
    ...{ name: "many-turns", path: "/v1/messages" },
    attack: "thousands of turns, blocks, calls and tools to be translated for chat",
    bodies: () =>
      ["sink", "strict"].flatMap((model) => {
        const beginning = `{"model":"${model}","max_tokens":20,"messages":[`;
        return [
          `${beginning}${Array(9_000).fill(`${user},{"role":"assistant","content":"x"}`).join(",")}]}`,
          `${beginning}{"role":"user","content":[${Array(15_000).fill(markedPart).join(",")}]}]}`,
          `${beginning}${user},{"role":"assistant","content":[${Array.from({ length: 6_000 }, (_, i) => `{"type":"tool_use","id":"c${i}","name":"f","input":{}}`).join(",")}]},{"role":"user","content":[${Array.from({ length: 6_000 }, (_, i) => `{"type":"tool_result","tool_use_id":"c${i}","content":"x"}`).join(",")}]}]}`,
          `${beginning}${user}],"tools":[${Array(200)
            .fill(`{"name":"f","input_schema":${schema(50)}}`)
            .join(",")}]}`,
        ];
      }),
  },
  {
    ...{ name: "escapes" },
    attack: "texts of 16 MB of escapes, of quotes, of backslashes and of blanks around",
    bodies: () => [
      filled(content(), "\\u0041", closing),
      filled(content(), '\\"', closing),
      filled(content(), "\\\\", closing),
      filled("", " ", `${content("x")}${closing}`),
      filled(content(), "\\ud83d\\ude00", closing),
    ],
  },
  {
    ...{ name: "many-messages" },
    attack: "20,000 messages, 400,000 parts of one, 20,000 tools",
    bodies: () => [
      `${begin}${Array(20_000).fill(user).join(",")}]}`,
      `${begin}{"role":"user","content":[${Array(400_000).fill('{"type":"text","text":"x"}').join(",")}]}]}`,
      `${begin}${user}],"tools":[${Array(20_000).fill('{"type":"function","function":{"name":"f"}}').join(",")}]}`,
      `{"model":"ant","max_tokens":5,"messages":[${Array(20_000).fill(user).join(",")}]}`,
    ],
  },
  {
    // Threads have heaps of their own, which grow once.
    ...{ name: "counted-tokens", path: "/v1/messages/count_tokens", warm: 0.5 },
    attack: "texts of 4 MB whose tokens are counted",
    bodies: () => [filled(content(), "ab c", closing, 4_000_000), filled(content(), "a", closing, 4_000_000)],
  },
  {
    ...{ name: "form-fields", headers: form },
    attack: "forms of 100,000 fields, of nested brackets, of the same name",
    bodies: () => [
      `model=sink&${Array.from({ length: 100_000 }, (_, i) => `f${i}=x`).join("&")}`,
      `model=sink&a${"[b]".repeat(50_000)}=x`,
      `model=sink&${Array.from({ length: 50_000 }, (_, i) => `messages[${i}][content]=x`).join("&")}`,
      filled("model=sink", "&a[]=x", ""),
      filled("model=sink&x=", "%41", ""),
    ],
  },
  {
    // Node has a buffer for each read, and two gigabytes are read: most of what it grows by is garbage.
    ...{ name: "multipart-parts", headers: multipart, growth: 800 },
    attack: "multipart forms of 100,000 parts, and of one boundary after another",
    bodies: () => [
      `${Array.from({ length: 100_000 }, (_, i) => part(`f${i}`)).join("")}--b--\r\n`,
      filled("", "--b\r\n", "--b--\r\n"),
      filled('--b\r\ncontent-disposition: form-data; name="a"\r\n\r\n', "\r\n--", "\r\n--b--\r\n"),
      filled("--b\r\n", "a: b\r\n", "\r\n\r\nx\r\n--b--\r\n"),
    ],
  },
];

export const bodies: readonly Row[] = works.map(workRow);
