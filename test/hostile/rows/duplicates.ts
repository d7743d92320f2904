/** Bodies that could be read in two ways: a member twice, in any spelling of its name and at any depth. */
import { ask } from "../raw.ts";
import { chatPath, faultsOf, type Row } from "../row.ts";

const messages = `"messages":[{"role":"user","content":"x"}]`;
const chatWith = (members: string) => `{"model":"cheap",${members},${messages}}`;
const tool = (members: string) => chatWith(`"tools":[{"type":"function","function":{${members}}}]`);

interface Case {
  /** The path that the refusal must name. */
  readonly names: string;
  readonly body: string;
  readonly path?: string;
}

const model = (second: string) => ({ names: "model", body: `{"model":"dear",${second}:"cheap",${messages}}` });

const cases: readonly Case[] = [
  model('"model"'),
  model(String.raw`"mod\u0065l"`),
  model(String.raw`"\u006d\u006F\u0064\u0065\u006c"`),
  { names: "model", body: `{${messages},"model":"dear","x":{"model":"y"},"model":"cheap"}` },
  { names: "model", body: `{"model":"dear",${messages},"padding":"${"x".repeat(70_000)}","model":"cheap"}` },
  { names: "models", body: `{"models":["dear"],"models":["cheap"],"model":"cheap",${messages}}` },
  { names: "max_tokens", body: chatWith('"max_tokens":1,"max_tokens":1000') },
  { names: "max_completion_tokens", body: chatWith('"max_completion_tokens":1,"max_completion_tokens":1000') },
  { names: "max_tokens", body: chatWith(String.raw`"max_tokens":1,"max\u005ftokens":1000`) },
  { names: "stream", body: chatWith('"stream":false,"stream":true') },
  { names: "n", body: chatWith('"n":1,"n":5') },
  { names: "n", body: chatWith(String.raw`"n":1,"\u006e":5`) },
  { names: "tools", body: chatWith('"tools":[],"tools":[{"type":"function","function":{"name":"f"}}]') },
  { names: "messages", body: `{"model":"cheap",${messages},${messages}}` },
  {
    names: "stream_options",
    body: chatWith('"stream":true,"stream_options":{"include_usage":true,"include_usage":false}'),
  },
  { names: "tools", body: tool('"name":"f","name":"g"') },
  { names: "tools", body: tool(String.raw`"name":"f","n\u0061me":"g"`) },
  { names: "messages", body: `{"model":"cheap","messages":[{"role":"user","role":"system","content":"x"}]}` },
  { names: "messages", body: `{"model":"cheap","messages":[{"role":"user","content":"x","content":"y"}]}` },
  { names: "max_tokens", path: "/v1/messages", body: `{"model":"cheap","max_tokens":1,"max_tokens":9,${messages}}` },
  { names: "model", path: "/v1/messages", body: `{"model":"dear","max_tokens":1,"model":"cheap",${messages}}` },
  { names: "model", path: "/v1/responses", body: `{"model":"dear","model":"cheap","input":"x"}` },
  {
    names: "max_output_tokens",
    path: "/v1/responses",
    body: `{"model":"cheap","max_output_tokens":16,"max_output_tokens":99,"input":"x"}`,
  },
  { names: "model", path: "/v1/embeddings", body: `{"model":"outline","model":"vector","input":"x"}` },
  { names: "input", path: "/v1/embeddings", body: `{"model":"vector","input":"x","input":["y","z"]}` },
  { names: "model", path: "/v1/completions", body: `{"model":"dear","model":"cheap","prompt":"x"}` },
  {
    names: "model",
    path: "/modelgateway.v1.InferenceService/CreateChatCompletion",
    body: `{"model":"dear","model":"cheap",${messages}}`,
  },
];

export const duplicates: readonly Row[] = [
  {
    ...{ name: "duplicate-members", item: 2, short: true, warm: 0 },
    attack: `${cases.length} bodies with a member twice, in all spellings of its name and at several depths`,
    holds: "400 with its path, and no upstream is asked",
    async run({ gateway: { port, keys }, wild }) {
      const before = total((await wild.seen()).requests);
      const taken: string[] = [];
      const unnamed: string[] = [];
      for (const { names, body, path = chatPath } of cases) {
        const { status, body: words } = await ask(port, { path, key: keys.rich, body });
        const short = `${path} ${body.slice(0, 60)}`;
        if (status !== 400) taken.push(`${status} for ${short}`);
        else if (!words.includes(names)) unnamed.push(short);
      }
      const asked = total((await wild.seen()).requests) - before;
      const faults = faultsOf({ [`an upstream was asked ${asked} times`]: asked > 0 });
      if (taken.length > 0) faults.push(`${taken.length} were not refused, as ${taken[0]}`);
      if (unnamed.length > 0) faults.push(`${unnamed.length} were refused without their path, as ${unnamed[0]}`);
      return { told: `${cases.length - taken.length} of ${cases.length} refused`, faults };
    },
  },
];

const total = (requests: Readonly<Record<string, number>>) =>
  Object.values(requests).reduce((sum, count) => sum + count, 0);
