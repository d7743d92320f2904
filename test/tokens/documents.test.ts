/** A document counts by its pages and its text: never below what its vendor counts in a hold, and never absurdly. */
import { Worker } from "node:worker_threads";
import { deflateSync } from "node:zlib";
import type { JsonObject } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { CreateChatCompletionRequestSchema } from "../../gen/modelgateway/v1/chat_pb.ts";
import { CreateMessageRequestSchema } from "../../gen/modelgateway/v1/messages_pb.ts";
import { CreateResponseRequestSchema } from "../../gen/modelgateway/v1/responses_pb.ts";
import { inputBound } from "../../src/ledger/worst-case.ts";
import { startThread } from "../../src/package/package-files.ts";
import { attachedTo } from "../../src/tokens/media/attachments.ts";
import { documentSize, documentTokens, documentTokensOf } from "../../src/tokens/media/document-tokens.ts";
import { imageRuleFor } from "../../src/tokens/media/image-rules.ts";
import { pdfSize } from "../../src/tokens/media/pdf-size.ts";
import { createReadDocuments, readDocuments, withDocuments } from "../../src/tokens/media/read-documents.ts";
import { Wire } from "../../src/wire/wire.ts";
import { writePdf } from "../support/pdf.ts";
import { cpuMsOf } from "../support/run/cpu-time.ts";

const line = "BT /F1 12 Tf (The quick brown fox jumps over the lazy dog.) Tj ET\n";
const page = line.repeat(50);
/** Bytes of the text of a page, with an opening parenthesis each. */
const pageBytes = 50 * 45;
const noise = Buffer.from(Array.from({ length: 50_000 }, (_, at) => (at * 7919 + (at >> 3) * 104_729) & 0xff));

describe("the pages and the text of a PDF", () => {
  test.each([
    ["as plain text", { isDeflated: false }],
    ["compressed", {}],
    ["in object streams", { isPacked: true }],
  ])("are read, %s", (_, options) => {
    expect(pdfSize(writePdf([page, page, page], options))).toEqual({ pages: 3, textBytes: 3 * pageBytes });
  });

  test("leave pictures, fonts and descriptions out", () => {
    const more = [
      [900, "/Type /XObject /Subtype /Image /Filter /DCTDecode", noise],
      [901, "/Type /XObject /Subtype /Image /Width 9 /Height 9 /Filter /FlateDecode", deflateSync(noise)],
      [902, "/Length1 50000 /Filter /FlateDecode", deflateSync(noise)],
      [903, "/Type /Metadata /Subtype /XML", "<x>(said) Tj</x>"],
      [904, "", `endstream of nothing, and ${"x".repeat(5_000)}`],
    ] as const;
    expect(pdfSize(writePdf([page], { more }))).toEqual({ pages: 1, textBytes: pageBytes });
    // A page that was scanned shows none.
    expect(pdfSize(writePdf(["q 612 0 0 792 0 0 cm /Im0 Do Q"], { more }))).toEqual({ pages: 1, textBytes: 0 });
  });

  test.each([
    ["kerned", "[(He) -12 (llo)] TJ", 5 + 2],
    ["with parentheses within", "(a(b)c\\)d) Tj", 10],
    ["in hexadecimal", "<00480065006c006c006f> Tj", 11],
    ["by a quotation mark", "(Hello) '", 6],
    ["never ended", `(${"a".repeat(1_000)} Tj (b) Tj`, 1_011],
  ])("counts strings %s", (_, content, bytes) => {
    const { textBytes = -1 } = pdfSize(writePdf([content])) ?? {};
    expect(textBytes).toBeGreaterThanOrEqual(bytes - 1);
    expect(textBytes).toBeLessThanOrEqual(bytes + 2);
  });

  test("counts a content for each page that has it, also where it claims to be a picture", () => {
    expect(pdfSize(writePdf([page, page], { sharedContent: 100 }))?.textBytes).toBe(3 * pageBytes);
    const more = [[900, "/Subtype /Image /Filter /FlateDecode", deflateSync(page)]] as const;
    expect(pdfSize(writePdf(["q Q", "q Q"], { sharedContent: 900, more }))?.textBytes).toBe(2 * pageBytes);
    const form = [[900, "/Subtype /Form /Filter /FlateDecode", deflateSync(page)]] as const;
    const drawn = pdfSize(writePdf(["/X Do ".repeat(20)], { more: form }));
    expect(drawn?.textBytes).toBe(20 * pageBytes);
  });

  test("counts a page as often as a page tree has it", () => {
    const file = writePdf([page]).toString("latin1").replace("/Count 1", "/Count 70");
    expect(pdfSize(Buffer.from(file, "latin1"))).toEqual({ pages: 70, textBytes: 70 * pageBytes });
  });

  test.each<[string, Buffer]>([
    ["is encrypted", writePdf([page], { trailer: "/Encrypt 9 0 R" })],
    ["has a filter that is not known", writePdf([page], { more: [[900, "/Filter /LZWDecode", noise]] })],
    ["is damaged", writePdf([page], { more: [[900, "/Filter /FlateDecode", noise]] })],
    ["unpacks to more than any page has", writePdf([line.repeat(200_000)])],
    [
      "has forms that draw one another again and again",
      writePdf(["/A Do"], {
        more: Array.from({ length: 9 }, (_, at) => [900 + at, "/Subtype /Form", `${page} /B Do /B Do`] as const),
      }),
    ],
    [
      "has glyphs that stand for long texts",
      writePdf([page], { more: [[900, "", `1 beginbfchar <01> <${"0041".repeat(99)}> endbfchar`]] }),
    ],
  ])("are not believed where it %s", (_, file) => {
    expect(pdfSize(file)).toEqual({ pages: 1, textBytes: undefined });
    const size = documentSize(file.toString("base64"), pdfSize(file));
    expect(documentTokensOf(size, [imageRuleFor("gpt-4o")], "most")).toBe(documentTokens);
    expect(documentTokensOf(size, [imageRuleFor("gpt-4o")], "usual")).toBeLessThan(5_000);
  });

  test.each<[string, string]>([
    ["comments", "%\n"],
    ["contents that never end", "/Contents ["],
    ["page trees", "/Type /Pages "],
    ["streams", "stream\nendstream "],
    ["strings that never end", "(<"],
    ["dictionaries", "<< /Type "],
    ["lists of filters that never end", "/Filter["],
  ])("are read in no time where a file is full of %s", async (_, piece) => {
    const full = piece.repeat(4_000_000 / piece.length);
    const cpuMs = await cpuMsOf(() => {
      pdfSize(Buffer.from(`%PDF-1.7 /Type /Page ${full}`));
      pdfSize(writePdf([`(a) Tj ${full}`]));
    });
    // They would take minutes if it grew with the square.
    expect(cpuMs).toBeLessThan(5_000);
  });

  test.each<[string, string]>([
    ["one number", "1"],
    ["numbers", "1 "],
    ["blanks", " "],
    ["references without an end", "1 0 "],
  ])("are read in no time where the contents of a page are %s", async (_, piece) => {
    const contents = `[${piece.repeat(2_000_000 / piece.length)}]`;
    const cpuMs = await cpuMsOf(() =>
      expect(pdfSize(Buffer.from(`%PDF-1.7 << /Type /Page /Contents ${contents} >>`))?.pages).toBe(1),
    );
    expect(cpuMs).toBeLessThan(5_000);
  });

  test("are read in no time where each of a thousand streams has a long dictionary", async () => {
    const stream = `1 0 obj ${"/Filter[".repeat(1_000)}stream\nx\nendstream\n`;
    const cpuMs = await cpuMsOf(() =>
      expect(pdfSize(Buffer.from(`%PDF-1.7 /Type /Page\n${stream.repeat(1_000)}`))?.textBytes).toBeUndefined(),
    );
    expect(cpuMs).toBeLessThan(5_000);
  });

  test("share what is unpacked with the other files of their request", () => {
    const file = writePdf([page.repeat(100)]);
    const unpacking = { left: 3 * page.length * 100 };
    const sizes = Array.from({ length: 5 }, () => pdfSize(file, unpacking)?.textBytes);
    expect(sizes.map((bytes) => bytes !== undefined)).toEqual([true, true, true, false, false]);
  });

  test("are not there in anything else", () => {
    for (const file of ["", "%PDF-1.7", "%PDF-1.7 stream\n", "PK\u0003\u0004", "/Type /Page"]) {
      expect(pdfSize(Buffer.from(file))).toBeUndefined();
    }
  });
});

describe("a document counts as its vendor counts it", () => {
  // What vendors count for a page of text with its image.
  const vendors = [
    ["claude-opus-5-5", 2_347],
    ["claude-haiku-4-5", 2_115],
    ["gemini-3-pro", 561],
    ["gemini-2.5-flash", 258],
    ["gpt-4o", 560 + 765],
  ] as const;

  test.each(vendors)(
    "%s: a page of 2,250 characters holds at least %d, and not ten times what Anthropic counts",
    (model, tokens) => {
      const file = writePdf([page]);
      const size = documentSize(`data:application/pdf;base64,${file.toString("base64")}`, pdfSize(file));
      const most = documentTokensOf(size, [imageRuleFor(model)], "most");
      expect(most).toBeGreaterThanOrEqual(tokens);
      expect(most).toBeLessThan(20_000);
      const usual = documentTokensOf(size, [imageRuleFor(model)], "usual");
      expect(usual).toBeGreaterThan(tokens / 3);
      expect(usual).toBeLessThan(4 * tokens + 2_000);
    },
  );

  test.each(["text/plain", "text/csv;charset=utf-8", "application/json"])("a text by its bytes: %s", (type) => {
    const size = documentSize(`data:${type};base64,${Buffer.from("word ".repeat(10_000)).toString("base64")}`);
    expect(documentTokensOf(size, [], "most")).toBeGreaterThanOrEqual(50_000);
    expect(documentTokensOf(size, [], "most")).toBeLessThan(55_000);
    expect(documentTokensOf(size, [], "usual")).toBeLessThan(13_000);
  });

  test.each(["https://example.com/a.pdf", undefined, "data:application/zip;base64,UEsDBAAA", "file-abc"])(
    "one that the gateway cannot see as the most that there is: %s",
    (text) => {
      expect(documentTokensOf(documentSize(text), [imageRuleFor("gpt-4o")], "most")).toBe(documentTokens);
    },
  );
});

describe("a request with a PDF", () => {
  const file = writePdf(Array(10).fill(page), {
    isPacked: true,
    more: [[900, "/Subtype /Image /Filter /DCTDecode", Buffer.alloc(3_000_000, 1)]],
  });
  const base64 = file.toString("base64");
  const dataUrl = `data:application/pdf;base64,${base64}`;
  const said = (part: JsonObject) => ({ model: "m", max_tokens: 1, messages: [{ role: "user", content: [part] }] });
  const bytes = (json: JsonObject) => Buffer.from(JSON.stringify(json));
  const requests: readonly [string, () => Wire][] = [
    [
      "of chat",
      () =>
        Wire.ofBytes(
          CreateChatCompletionRequestSchema,
          bytes(said({ type: "file", file: { filename: "a.pdf", file_data: dataUrl } })),
        ),
    ],
    [
      "of messages",
      () =>
        Wire.ofBytes(
          CreateMessageRequestSchema,
          bytes(said({ type: "document", source: { type: "base64", media_type: "application/pdf", data: base64 } })),
        ),
    ],
    [
      "of responses",
      () =>
        Wire.ofBytes(
          CreateResponseRequestSchema,
          bytes({
            model: "m",
            input: [{ role: "user", content: [{ type: "input_file", filename: "a.pdf", file_data: dataUrl }] }],
          }),
        ),
    ],
  ];

  test.each(requests)("%s holds its pages, also where it is three megabytes long", async (_, make) => {
    const request = make();
    expect(attachedTo(request, []).isUnseen).toBe(true);
    await readDocuments(request);
    const { tokens, isUnseen } = attachedTo(request, ["claude-opus-5-5"]);
    expect(isUnseen).toBe(false);
    expect(tokens).toBeGreaterThan(10 * 2_347);
    expect(tokens).toBeLessThan(10 * 9_000);
    expect(inputBound(request, undefined, 1, ["claude-opus-5-5"])).toBeLessThan(tokens + 500);
    // The dearest of its targets counts.
    expect(attachedTo(request, ["claude-opus-5-5", "gpt-4o-mini"]).tokens).toBeGreaterThan(tokens);
  });

  test("is one that cannot be seen where the thread dies that reads it, and the next is read by another", async () => {
    const [first, second] = [requests[0]?.[1](), requests[1]?.[1]()] as [Wire, Wire];
    let isFirst = true;
    const threads: Worker[] = [];
    const read = createReadDocuments(() => {
      const thread = isFirst ? new Worker("process.exit()", { eval: true }) : startThread("documents");
      isFirst = false;
      threads.push(thread);
      return thread;
    });
    await read(first);
    expect(attachedTo(first, []).isUnseen).toBe(true);
    expect(await withDocuments(first, () => attachedTo(first, []).isUnseen)).toBe(true);
    await read(second);
    expect(attachedTo(second, []).isUnseen).toBe(false);
    await Promise.all(threads.map((thread) => thread.terminate()));
  });

  test("is not read for a call that is over before its turn", async () => {
    const [first, second] = [requests[0]?.[1](), requests[1]?.[1]()] as [Wire, Wire];
    const over = new AbortController();
    const reading = [readDocuments(first), readDocuments(second, over.signal)];
    over.abort();
    await Promise.all(reading);
    expect(attachedTo(first, []).isUnseen).toBe(false);
    expect(attachedTo(second, []).isUnseen).toBe(true);
  });

  test("is read in a thread, while others are served", async () => {
    const long = Buffer.concat([file, Buffer.from("(a) Tj\n".repeat(1_000_000))]).toString("base64");
    const part = { type: "file", file: { filename: "a.pdf", file_data: `data:application/pdf;base64,${long}` } };
    const request = Wire.ofBytes(CreateChatCompletionRequestSchema, bytes(said(part)));
    let turns = 0;
    const served = setInterval(() => turns++, 0);
    const { isUnseen } = await withDocuments(request, () => attachedTo(request, ["gpt-4o"]));
    clearInterval(served);
    expect(isUnseen).toBe(false);
    // Read here it would leave no turn to anybody else.
    expect(turns).toBeGreaterThan(5);
  });

  test("that names a second file under another key counts that, too", () => {
    const part = { type: "input_file", file_data: dataUrl, file_id: "file-1" };
    const request = Wire.ofBytes(
      CreateResponseRequestSchema,
      bytes({ model: "m", input: [{ role: "user", content: [part] }] }),
    );
    expect(attachedTo(request, ["gpt-4o"])).toMatchObject({ isUnseen: true });
    expect(attachedTo(request, ["gpt-4o"]).tokens).toBeGreaterThan(documentTokens);
  });
});
