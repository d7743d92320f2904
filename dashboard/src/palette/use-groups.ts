/** Returns what a query finds, in groups: only what the reader may open. */
import { IconListDetails } from "@tabler/icons-react";
import { useLocation, useNavigate } from "@tanstack/react-router";
import { texts, useTexts } from "../language/language.tsx";
import { isRequestId } from "../parts/request-by-id.tsx";
import { useUser } from "../session.tsx";
import { answeredGroup, foundGroup, type Item, type ItemGroup, inOrder } from "./item.ts";
import { useActions } from "./use-actions.ts";
import { usePeople } from "./use-people.ts";
import { useShownPlaces } from "./use-places.ts";
import { useStatusItems } from "./use-statuses.ts";
import { useKeyItems, useModelItems, useUpstreamItems } from "./use-things.ts";

const said = texts(
  {
    request: "Request",
    status: "Status",
    open: (id: string) => `Open ${id}`,
    own: "My account",
    operators: "Operator",
    models: "Models",
    keys: "API keys",
    upstreams: "Upstreams",
    accounts: "Accounts",
    users: "Users",
    settings: "Settings",
    docs: "Documentation",
    actions: "Actions",
  },
  {
    request: "请求",
    status: "状态码",
    open: (id: string) => `打开 ${id}`,
    own: "我的账户",
    operators: "运营",
    models: "模型",
    keys: "API 密钥",
    upstreams: "上游",
    accounts: "账户",
    users: "用户",
    settings: "设置",
    docs: "文档",
    actions: "操作",
  },
);

/** useGroups returns the groups, that with the best first; without a query the pages of both areas, and what is done most. */
export function useGroups(query: string): readonly ItemGroup[] {
  const t = useTexts(said);
  const { operator } = useUser();
  const isOperating = useLocation().pathname.startsWith("/operator");
  const { own, operators, settings, docs } = useShownPlaces(operator);
  const actions = useActions(operator);
  const requests = useRequestItems(query, operator);
  const statuses = useStatusItems(query);
  const [models, keys, upstreams] = [useModelItems(operator), useKeyItems(query, operator), useUpstreamItems(operator)];
  const { accounts, users } = usePeople(query, operator);
  // Of pages that fit alike, those of the area that the reader is in come first.
  const pages = [
    { label: t.own, items: own },
    { label: t.operators, items: operators },
  ];
  if (isOperating) pages.reverse();
  if (query === "") {
    const brief = [...pages, { label: t.actions, items: actions }];
    return inOrder(brief.map(({ label, items }) => ({ label, items: items.map(withoutAbout), fit: 1 })));
  }
  return inOrder([
    answeredGroup(t.request, requests, query),
    answeredGroup(t.status, statuses, query),
    ...pages.map(({ label, items }) => foundGroup(label, items, query)),
    foundGroup(t.models, models, query),
    foundGroup(t.keys, keys, query),
    foundGroup(t.upstreams, upstreams, query),
    answeredGroup(t.accounts, accounts, query),
    answeredGroup(t.users, users, query),
    foundGroup(t.settings, settings, query),
    foundGroup(t.actions, actions, query),
    foundGroup(t.docs, docs, query, 4),
  ]);
}

/** withoutAbout leaves out the second line: whoever has typed nothing yet is to see all pages at once. */
function withoutAbout(item: Item): Item {
  return { ...item, about: undefined };
}

/** useRequestItems returns the call whose id the query is. */
function useRequestItems(query: string, operator: boolean): readonly Item[] {
  const t = useTexts(said);
  const navigate = useNavigate();
  const id = query.toLowerCase();
  if (!isRequestId(id)) return [];
  const to = operator ? "/operator/requests/$requestId" : "/usage/$requestId";
  const run = () => void navigate({ to, params: { requestId: id } });
  return [{ id, names: [t.open(id)], marks: [id], icon: IconListDetails, run }];
}
