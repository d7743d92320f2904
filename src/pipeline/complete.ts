/**
 * The way of a model call once its caller is known and its request is sound: route, translate where the upstream
 * speaks another family, send, and translate back. What an upstream does one by one is asked of it one by one.
 *
 * What a translation leaves out is named in the answer header `x-gateway-dropped`, and what a gateway behind this one
 * leaves out with it. A caller who sends `x-gateway-strict: true` is refused instead, before anything is sent.
 */
import type { Answer, AnswerHeaders, Call } from "../call.ts";
import { type Catalog, mayRelay, type Target } from "../catalog.ts";
import { internal, modelNotFound, wouldBeDropped } from "../errors.ts";
import { translateAlong, wayTo } from "../families/index.ts";
import { type Form, type Input, type Operation, type Output, operations } from "../providers/operations.ts";
import type { Provider, Speak } from "../providers/provider.ts";
import { estimatePromptTokens } from "../tokens/prompt.ts";
import { eachPrompt } from "./each-prompt.ts";
import { route } from "./route.ts";

export interface CompleteOptions {
  readonly catalog: Catalog;
  /** By the upstream's name. */
  readonly providers: ReadonlyMap<string, Provider>;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** From 0 (inclusive) to 1 (exclusive). */
  readonly random: () => number;
}

/** Answers an operation, in the form that is asked for. */
export type Complete = <O extends Operation, F extends Form>(
  asked: O,
  form: F,
  call: Call<Input<O>>,
) => Promise<Answer<Output<O, F>>>;

export function createComplete({ catalog, providers, clock, random }: CompleteOptions): Complete {
  return async <O extends Operation, F extends Form>(asked: O, form: F, call: Call<Input<O>>) => {
    const { id, header } = call;
    const name = call.request.message().model ?? "";
    const model = catalog.find(name, operations[asked].kind);
    const target = route(model, random);
    const provider = providerOf(target, providers);
    const way = wayTo(asked, (operation) => provider.speaks[operation] !== undefined && mayRelay(model, operation));
    if (!way) throw modelNotFound(name);
    const operation = way.at(-1)?.to ?? asked;
    const speak = provider.speaks[operation] as Speak<Operation>;
    return eachPrompt(way, form, call, async ({ request: part, signal }) => {
      const translated = translateAlong(way, part, {
        form,
        maxOutputTokens: model.maxOutputTokens,
        answerId: id.replace(/^req_/, ""),
        now: Math.floor(clock() / 1000),
        estimateTokens: estimatePromptTokens,
      });
      const { request, dropped } = translated;
      if (dropped.length > 0 && isStrict(header("x-gateway-strict"))) throw wouldBeDropped(dropped);
      const answer = await speak({ id, operation, form, request, model: target.model, header, signal });
      const headers = droppedHeaders(dropped, answer.headers?.["x-gateway-dropped"]);
      return { ...translated.answer(answer), headers } as Answer<Output<O, F>>;
    });
  };
}

function providerOf({ upstream }: Target, providers: CompleteOptions["providers"]): Provider {
  const provider = providers.get(upstream);
  if (!provider) throw internal(new Error(`no provider for the upstream ${upstream}`));
  return provider;
}

/** The longest value of the header, in characters: some proxies refuse longer heads. */
const longestHeader = 2048;

function isStrict(header: string | undefined): boolean {
  return header?.trim().toLowerCase() === "true";
}

/** Names what was left out on the way to the upstream, and then what the upstream, another gateway, left out itself. */
function droppedHeaders(dropped: readonly string[], further = ""): AnswerHeaders {
  const inner = further.split(",").map((path) => path.trim());
  const paths = new Set([...dropped, ...inner].filter((path) => path !== ""));
  if (paths.size === 0) return {};
  // A path holds the caller's own keys, which may be any text.
  const value = [...paths].map((path) => path.replace(/[^\x21-\x2b\x2d-\x7e]/g, "?")).join(", ");
  return { "x-gateway-dropped": value.length > longestHeader ? `${value.slice(0, longestHeader)}...` : value };
}
