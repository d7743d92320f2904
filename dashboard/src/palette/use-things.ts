/** The account's models and keys as items, and the operator's upstreams; asked for when the palette opens. */
import { useQuery } from "@connectrpc/connect-query";
import { IconCloud, IconKey, IconStack2 } from "@tabler/icons-react";
import { useLocation, useNavigate } from "@tanstack/react-router";
import { AccountService } from "../../../gen/modelgateway/v1/accounts_pb.ts";
import { type ApiKey, KeyService } from "../../../gen/modelgateway/v1/keys_pb.ts";
import { OperatorService } from "../../../gen/modelgateway/v1/operator_pb.ts";
import { entriesOf, textAt } from "../configuration/document.ts";
import { texts, useTexts } from "../language/language.tsx";
import { useKindNames } from "../pages/models/model-facts.tsx";
import type { Item } from "./item.ts";

const said = texts(
  { unserved: "Not served", ofKey: "Its calls", unknownKey: (id: string) => `Key ${id}` },
  { unserved: "未提供", ofKey: "该密钥的调用", unknownKey: (id: string) => `密钥 ${id}` },
);

/** fresh is how long an answer is kept: the palette opens often, and what it finds changes seldom. */
const fresh = { staleTime: 30_000 } as const;

/** useModelItems returns the models: an operator among the operator's pages gets to those, and finds what is not served, too. */
export function useModelItems(operator: boolean): readonly Item[] {
  const t = useTexts(said);
  const kinds = useKindNames();
  const navigate = useNavigate();
  const isOperating = useLocation().pathname.startsWith("/operator");
  const { data: catalog } = useQuery(AccountService.method.listCatalog, {}, fresh);
  const { data: all } = useQuery(OperatorService.method.describeModels, {}, { ...fresh, enabled: operator });
  const served = (catalog?.models ?? []).map(({ id, aliases, family, vendor, kind }): Item => {
    const run = () =>
      isOperating
        ? navigate({ to: "/operator/models/$modelId", params: { modelId: id } })
        : navigate({ to: "/models/$modelId", params: { modelId: id } });
    return {
      ...{ id: `model ${id}`, names: [id, ...aliases], icon: IconStack2, run: () => void run() },
      about: [kinds[kind], vendor || family, ...aliases].filter(Boolean).join(" · "),
    };
  });
  const others = (all?.models ?? []).flatMap(({ model, served }): Item[] => {
    if (!model || served) return [];
    const run = () => navigate({ to: "/operator/models/$modelId", params: { modelId: model.id } });
    const about = [t.unserved, kinds[model.kind], model.vendor].filter(Boolean).join(" · ");
    return [
      { id: `model ${model.id}`, names: [model.id], about, icon: IconStack2, weight: 0.6, run: () => void run() },
    ];
  });
  return [...served, ...others];
}

/** useKeyItems returns the account's keys that may match; and the calls of a key of any other account, for an operator who knows its id. */
export function useKeyItems(query: string, operator: boolean): readonly Item[] {
  const t = useTexts(said);
  const navigate = useNavigate();
  const { data } = useQuery(KeyService.method.listKeys, {}, fresh);
  if (!data) return [];
  const items = data.keys.map((key): Item => {
    const { id, name, owner, tags, secretMask } = key;
    const isItsSecret = isSecret(query) && maskedLike(key, query);
    return {
      ...{ id, names: [name, ...(owner ? [owner] : []), ...tags], icon: IconKey },
      marks: [secretMask, id, ...(isItsSecret ? [query] : [])],
      about: [secretMask, owner, id].filter(Boolean).join(" · "),
      run: () => void navigate({ to: "/keys", search: { find: id } }),
    };
  });
  if (!operator || !/^key_[0-9a-z]{25}$/.test(query) || data.keys.some(({ id }) => id === query)) return items;
  const run = () => void navigate({ to: "/operator/requests", search: { key: query } });
  return [...items, { id: query, names: [t.unknownKey(query)], marks: [query], about: t.ofKey, icon: IconKey, run }];
}

/** isSecret reports whether a text looks like a key's secret: it is looked for here, and not sent anywhere. */
export function isSecret(text: string): boolean {
  return /^sk-\S{5,}$/.test(text);
}

/** maskedLike reports whether a secret has the first and the last characters that a key's mask shows. */
function maskedLike({ secretMask }: ApiKey, secret: string): boolean {
  const [first = "", last = ""] = secretMask.split("…");
  return last !== "" && secret.startsWith(first) && secret.endsWith(last);
}

/** useUpstreamItems returns the upstreams that are served, and those that are only configured. */
export function useUpstreamItems(operator: boolean): readonly Item[] {
  const t = useTexts(said);
  const navigate = useNavigate();
  const asked = { ...fresh, enabled: operator };
  const { data } = useQuery(OperatorService.method.listUpstreams, {}, asked);
  const { data: configured } = useQuery(OperatorService.method.getConfiguration, {}, asked);
  const served = new Set(data?.upstreams.map(({ name }) => name));
  const item = (name: string, baseUrl: string, about: string): Item => ({
    ...{ id: `upstream ${name}`, names: [name], marks: [baseUrl], about, icon: IconCloud },
    run: () => void navigate({ to: "/operator/upstreams/$upstream", params: { upstream: name } }),
  });
  const others = entriesOf(configured?.configuration?.effective, "upstreams")
    .map((entry) => [textAt(entry, "name"), textAt(entry, "base_url")] as const)
    .filter(([name]) => data && !served.has(name));
  return [
    ...(data?.upstreams ?? []).map(({ name, baseUrl, kind }) => item(name, baseUrl, baseUrl || kind)),
    ...others.map(([name, baseUrl]) => item(name, baseUrl, [t.unserved, baseUrl].filter(Boolean).join(" · "))),
  ];
}
