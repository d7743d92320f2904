/**
 * The palette: every page, key and account, a call by its id, and what is done most, from the keyboard (Ctrl+K or ⌘K). A file of its
 * own, so that it loads after the page.
 */
import "@mantine/spotlight/styles.css";
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { useComputedColorScheme, useMantineColorScheme } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { Spotlight } from "@mantine/spotlight";
import {
  IconBuilding,
  IconKey,
  IconLanguage,
  IconListDetails,
  IconLogout,
  IconPlus,
  IconSearch,
  IconSunMoon,
} from "@tabler/icons-react";
import { useNavigate } from "@tanstack/react-router";
import { type ComponentType, useEffect, useState } from "react";
import { KeyService } from "../../../gen/modelgateway/v1/keys_pb.ts";
import { OperatorService } from "../../../gen/modelgateway/v1/operator_pb.ts";
import { SessionService } from "../../../gen/modelgateway/v1/sessions_pb.ts";
import { languages, texts, useLanguage, useTexts } from "../language/language.tsx";
import { isRequestId } from "../parts/request-by-id.tsx";
import { useSession, useUser } from "../session.tsx";
import { usePlaces } from "./navigation.tsx";

const said = texts(
  {
    title: "Search",
    hint: "Pages, keys, accounts, a request id, actions",
    none: "Nothing found",
    request: "Request",
    own: "My account",
    operators: "Operator",
    keys: "API keys",
    accounts: "Accounts",
    actions: "Actions",
    open: (id: string) => `Open ${id}`,
    createKey: "Create a key",
    theme: "Switch between light and dark",
    language: (name: string) => `Switch to ${name}`,
    signOut: "Sign out",
  },
  {
    title: "搜索",
    hint: "页面、密钥、账户、请求 ID、操作",
    none: "没有找到",
    request: "请求",
    own: "我的账户",
    operators: "运营",
    keys: "API 密钥",
    accounts: "账户",
    actions: "操作",
    open: (id: string) => `打开 ${id}`,
    createKey: "创建密钥",
    theme: "切换浅色或深色主题",
    language: (name: string) => `切换到 ${name}`,
    signOut: "退出登录",
  },
);

interface Item {
  readonly id: string;
  readonly label: string;
  readonly about?: string;
  readonly icon: ComponentType<{ readonly size?: number }>;
  readonly run: () => void;
}

interface ItemGroup {
  readonly label: string;
  readonly items: readonly Item[];
}

/** shownItems is the most items of a group. */
const shownItems = 6;

export default function Palette() {
  const t = useTexts(said);
  const [query, setQuery] = useState("");
  const [isOpen, setOpen] = useState(false);
  const groups = useGroups(query.trim(), isOpen).filter(({ items }) => items.length > 0);
  const shown = groups.flatMap(({ items }) => items.map(({ id }) => id)).join(" ");
  useEffect(() => {
    if (isOpen && shown !== "") selectFirst();
  }, [isOpen, shown]);
  return (
    <Spotlight.Root
      query={query}
      onQueryChange={setQuery}
      onSpotlightOpen={() => setOpen(true)}
      onSpotlightClose={() => setOpen(false)}
      shortcut="mod + K"
      tagsToIgnore={[]}
      attributes={{ content: { "aria-label": t.title } }}
      maxHeight={440}
      scrollable
    >
      <Spotlight.Search
        placeholder={t.hint}
        aria-label={t.title}
        leftSection={<IconSearch size={18} stroke={1.5} aria-hidden />}
      />
      <Spotlight.ActionsList>
        {groups.map(({ label, items }) => (
          <Spotlight.ActionsGroup key={label} label={label}>
            {items.map(({ id, label, about, icon: Icon, run }) => (
              <Spotlight.Action
                key={id}
                label={label}
                {...(about === undefined ? {} : { description: about })}
                leftSection={<Icon size={18} aria-hidden />}
                onClick={run}
              />
            ))}
          </Spotlight.ActionsGroup>
        ))}
        {groups.length === 0 && <Spotlight.Empty>{t.none}</Spotlight.Empty>}
      </Spotlight.ActionsList>
    </Spotlight.Root>
  );
}

/**
 * selectFirst has Enter open the first item. The library selects one when something is typed, and knows nothing of what the gateway
 * finds a moment later; it keeps what is selected in this attribute alone.
 */
function selectFirst(): void {
  const items = document.querySelectorAll("[data-action]");
  for (const [place, item] of items.entries()) item.toggleAttribute("data-selected", place === 0);
}

/** useGroups returns what the query finds: keys and accounts are asked for only while the palette is open. */
function useGroups(query: string, isOpen: boolean): readonly ItemGroup[] {
  const t = useTexts(said);
  const navigate = useNavigate();
  const { operator } = useUser();
  const { own, operators } = usePlaces();
  const actions = useActions();
  const [searched] = useDebouncedValue(query, 200);
  const keys = useQuery(KeyService.method.listKeys, {}, { enabled: isOpen }).data?.keys ?? [];
  const accounts = useQuery(
    OperatorService.method.listAccounts,
    { search: searched, pageSize: shownItems },
    { enabled: isOpen && operator && searched !== "" },
  );
  const page = ({ to, label, icon }: (typeof own)[number]): Item => ({
    ...{ id: to, label, icon },
    run: () => void navigate({ to }),
  });
  const found = (items: readonly Item[]) => items.filter((item) => matches(item, query));
  const keyItems =
    query === "" ? [] : keys.map((key) => keyItem(key, () => void navigate({ to: "/keys", search: { find: key.id } })));
  return [
    { label: t.request, items: isRequestId(query) ? [requestItem(query, t, operator, navigate)] : [] },
    { label: t.own, items: found(own.map(page)) },
    { label: t.operators, items: operator ? found(operators.map(page)) : [] },
    { label: t.keys, items: found(keyItems).slice(0, shownItems) },
    {
      label: t.accounts,
      items: (query === "" ? [] : (accounts.data?.accounts ?? [])).map(({ id, name }) => ({
        ...{ id, label: name, about: id, icon: IconBuilding },
        run: () => void navigate({ to: "/operator/accounts/$accountId", params: { accountId: id } }),
      })),
    },
    { label: t.actions, items: found(actions) },
  ];
}

function keyItem({ id, name, secretMask }: { id: string; name: string; secretMask: string }, run: () => void): Item {
  return { id, label: name, about: `${secretMask} · ${id}`, icon: IconKey, run };
}

function requestItem(
  id: string,
  t: { readonly open: (id: string) => string },
  operator: boolean,
  navigate: ReturnType<typeof useNavigate>,
): Item {
  const to = operator ? "/operator/requests/$requestId" : "/usage/$requestId";
  const run = () => void navigate({ to, params: { requestId: id } as never });
  return { id, label: t.open(id), icon: IconListDetails, run };
}

function matches({ label, about = "" }: Item, query: string): boolean {
  const words = query.toLowerCase().split(/\s+/);
  return words.every((word) => `${label} ${about}`.toLowerCase().includes(word));
}

function useActions(): readonly Item[] {
  const t = useTexts(said);
  const navigate = useNavigate();
  const { refresh } = useSession();
  const { language, speak } = useLanguage();
  const { setColorScheme } = useMantineColorScheme();
  const scheme = useComputedColorScheme("light");
  const signOut = useMutation(SessionService.method.signOut, { onSettled: refresh });
  const other = language === "en" ? "zh-CN" : "en";
  return [
    {
      ...{ id: "create-key", label: t.createKey, icon: IconPlus },
      run: () => void navigate({ to: "/keys", search: { create: true } }),
    },
    {
      ...{ id: "theme", label: t.theme, icon: IconSunMoon },
      run: () => setColorScheme(scheme === "light" ? "dark" : "light"),
    },
    { ...{ id: "language", label: t.language(languages[other]), icon: IconLanguage }, run: () => speak(other) },
    { ...{ id: "sign-out", label: t.signOut, icon: IconLogout }, run: () => signOut.mutate({}) },
  ];
}
