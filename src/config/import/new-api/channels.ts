/** Makes upstreams of new-api's channels, as its `GET /api/channel/` lists them. The list has no keys: each is a variable. */
import { urlSchema } from "../../values.ts";
import type { UpstreamDraft } from "../draft.ts";
import type { Notes } from "../notes.ts";
import { memberOf, numberOf, type Source, textOf } from "../source.ts";
import { type ChannelType, channelTypes } from "./channel-types.ts";

/** Channel is a channel that can be asked. */
export interface Channel {
  readonly place: Source;
  readonly upstream: UpstreamDraft;
  readonly vendor: string | undefined;
  readonly models: readonly string[];
  /** mapping has the names of models at the channel, where they differ. */
  readonly mapping: ReadonlyMap<string, string>;
  /** priority is as new-api has it: the highest first. */
  readonly priority: number;
  readonly weight: number;
}

const enabled = 1;
/** mostKeys bounds the keys of a channel. */
const mostKeys = 1000;

export function readChannels(items: readonly Source[], notes: Notes): Channel[] {
  const ids = items.map((item) => textOf(memberOf(item, "id")) ?? "");
  return items.flatMap((item, i) => {
    const id = ids[i] as string;
    const isUsable = /^\d{1,18}$/.test(id) && ids.indexOf(id) === i;
    return channelOf(item, isUsable ? id : `x${i + 1}`, notes) ?? [];
  });
}

/** channelOf reads a channel. `id` is unique among all of them. */
function channelOf(item: Source, id: string, notes: Notes): Channel | undefined {
  const text = (key: string) => textOf(memberOf(item, key));
  const number = (key: string) => numberOf(memberOf(item, key));
  const shown = `channel ${id}${text("name") ? `, "${text("name")}"` : ""}`;
  const type = channelTypes.get(number("type") ?? 0);
  const status = number("status") ?? enabled;
  const address = type && addressOf(type, text("base_url"));
  const refused = type
    ? type.refused
    : "its type is not known here. If it has an OpenAI-compatible address, add it as an upstream";
  const why =
    status === enabled ? (refused ?? (typeof address === "object" ? address.fault : undefined)) : "it is disabled";
  if (!type || why !== undefined || typeof address !== "string") {
    notes.leftOut(item, `${shown}: ${why}`);
    return undefined;
  }
  noteRest(item, shown, notes);
  const upstream = upstreamOf(item, `${type.name}-${id}`, type, address, notes);
  return {
    place: item,
    upstream,
    vendor: upstream.vendor,
    models: (text("models") ?? "")
      .split(",")
      .map((model) => model.trim())
      .filter((model) => model !== ""),
    mapping: mappingOf(text("model_mapping") ?? "", item, shown, notes),
    priority: Math.trunc(number("priority") ?? 0),
    weight: Math.max(1, Math.trunc(number("weight") ?? 0)),
  };
}

function addressOf(
  { base_url, suffix = "" }: ChannelType,
  own: string | undefined,
): string | { readonly fault: string } {
  const base = (own || base_url || "").replace(/\/+$/, "");
  if (base === "") return { fault: "it has no base_url" };
  const url = base.endsWith(suffix) ? base : `${base.replace(/\/v1$/, "")}${suffix}`;
  const [issue] = urlSchema.safeParse(url).error?.issues ?? [];
  return issue ? { fault: `its base_url is no address that can be used: ${issue.message}` } : url;
}

function upstreamOf(item: Source, name: string, type: ChannelType, base_url: string, notes: Notes): UpstreamDraft {
  const { kind = "openai", base_url: usual } = type;
  // A server elsewhere that speaks OpenAI's API need not be OpenAI's.
  const isElsewhere = type.vendor === "openai" && usual !== undefined && !base_url.startsWith(usual);
  const variable = `${name.toUpperCase().replace(/\W+/g, "_")}_KEY`;
  const size = Math.trunc(numberOf(memberOf(item, "channel_info", "multi_key_size")) ?? 0);
  const count = Math.min(mostKeys, Math.max(0, size));
  const several = Array.from({ length: count }, (_, i) => `\${${variable}_${i + 1}}`);
  const organization = textOf(memberOf(item, "openai_organization"));
  if (!type.keyIsOptional)
    notes.toDo(
      item,
      `put the key of ${name} into the environment as ${variable}${count > 1 ? "_1 and so on" : ""}: the list has none`,
    );
  return {
    name,
    kind,
    base_url,
    ...(type.vendor !== undefined && !isElsewhere && { vendor: type.vendor }),
    ...(!type.keyIsOptional && (count > 1 ? { api_keys: several } : { api_key: `\${${variable}}` })),
    ...(organization && { headers: { "OpenAI-Organization": organization } }),
  };
}

/** mappingOf reads `{"gpt-4o": "my-gpt"}`, which is a text within the channel. */
function mappingOf(text: string, item: Source, shown: string, notes: Notes): ReadonlyMap<string, string> {
  if (text.trim() === "") return new Map();
  try {
    const mapping: unknown = JSON.parse(text);
    return new Map(Object.entries(mapping as object).filter(([, name]) => typeof name === "string" && name !== ""));
  } catch {
    notes.leftOut(item, `${shown}: its model_mapping cannot be read. Set the models of its targets`);
    return new Map();
  }
}

/** others are what a channel may have besides, and what to do instead. */
const others: ReadonlyMap<string, string> = new Map([
  ["param_override", "a profile says what its server takes; the rest is the callers'"],
  ["header_override", "set headers of the upstream"],
  ["status_code_mapping", "what failures mean is decided by docs/upstreams.md"],
]);

function noteRest(item: Source, shown: string, notes: Notes): void {
  for (const [key, remedy] of others) {
    const text = textOf(memberOf(item, key)) ?? "";
    if (!["", "{}", "null"].includes(text.trim())) notes.leftOut(item, `${shown}: ${key}: ${remedy}`);
  }
  const groups = (textOf(memberOf(item, "group")) ?? "")
    .split(",")
    .filter((group) => !["", "default"].includes(group.trim()));
  if (groups.length > 0)
    notes.changed(
      item,
      `${shown}: its groups (${groups.join(", ")}) choose no channel here. Permit its models to the keys of those accounts`,
    );
}
