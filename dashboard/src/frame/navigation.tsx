/** The links to the pages, of one area at a time. */
import { Group, NavLink, Stack } from "@mantine/core";
import {
  IconActivity,
  IconBuilding,
  IconCloud,
  IconCoins,
  IconGauge,
  IconHistory,
  IconKey,
  IconLayoutDashboard,
  IconList,
  IconMessageCircle,
  IconSettings,
  IconStack2,
  IconTicket,
  IconUsers,
  IconVersions,
} from "@tabler/icons-react";
import { Link, type LinkProps, useLocation } from "@tanstack/react-router";
import type { ComponentType } from "react";
import { texts, useTexts } from "../language/language.tsx";
import classes from "./navigation.module.css";

const said = texts(
  {
    overview: "Overview",
    keys: "API keys",
    usage: "Usage",
    recharge: "Recharge",
    models: "Models",
    playground: "Playground",
    settings: "Settings",
    own: "My account",
    operator: "Operator",
    areas: "Area",
    gateway: "Overview",
    accounts: "Accounts",
    users: "Users",
    codes: "Redeem codes",
    upstreams: "Upstreams",
    requests: "All requests",
    offered: "Models",
    limits: "Limits and settings",
    versions: "History",
    audit: "Audit log",
  },
  {
    overview: "概览",
    keys: "API 密钥",
    usage: "用量",
    recharge: "充值",
    models: "模型",
    playground: "试验场",
    settings: "设置",
    own: "我的账户",
    operator: "运营",
    areas: "区域",
    gateway: "概览",
    accounts: "账户",
    users: "用户",
    codes: "兑换码",
    upstreams: "上游",
    requests: "全部请求",
    offered: "模型",
    limits: "限制与设置",
    versions: "更改历史",
    audit: "审计日志",
  },
);

type Name = keyof typeof said.en;
/** Place is a page of the navigation; `also` is another page that belongs to it, although its address is not below. */
type Place = readonly [
  to: LinkProps["to"] & string,
  name: Name,
  icon: ComponentType<{ readonly size?: number }>,
  also?: LinkProps["to"] & string,
];

const places: readonly Place[] = [
  ["/", "overview", IconLayoutDashboard],
  ["/keys", "keys", IconKey],
  ["/usage", "usage", IconActivity],
  ["/recharge", "recharge", IconCoins],
  ["/models", "models", IconStack2],
  ["/playground", "playground", IconMessageCircle],
  ["/settings", "settings", IconSettings],
];

const operatorPlaces: readonly Place[] = [
  ["/operator", "gateway", IconLayoutDashboard],
  ["/operator/accounts", "accounts", IconBuilding],
  ["/operator/users", "users", IconUsers],
  ["/operator/codes", "codes", IconTicket],
  ["/operator/upstreams", "upstreams", IconCloud, "/operator/add-upstream"],
  ["/operator/models", "offered", IconStack2, "/operator/add-model"],
  ["/operator/requests", "requests", IconList],
  ["/operator/limits", "limits", IconGauge],
  ["/operator/history", "versions", IconVersions],
  ["/operator/audit", "audit", IconHistory],
];

export interface ShownPlace {
  readonly to: LinkProps["to"] & string;
  readonly label: string;
  /** names are its label, and the same in the other language. */
  readonly names: readonly string[];
  readonly icon: ComponentType<{ readonly size?: number }>;
  /** also is another page that belongs to it. */
  readonly also: string | undefined;
}

/** usePlaces returns the pages of both areas, by the names that the navigation has for them. */
export function usePlaces(): { readonly own: readonly ShownPlace[]; readonly operators: readonly ShownPlace[] } {
  const t = useTexts(said);
  const named = ([to, name, icon, also]: Place) => ({
    ...{ to, label: t[name], icon, also },
    names: [t[name], said.en[name], said["zh-CN"][name]],
  });
  return { own: places.map(named), operators: operatorPlaces.map(named) };
}

interface Props {
  readonly operator: boolean;
  readonly onNavigate: () => void;
}

/** Navigation shows the pages of one area: those of the reader's own account, or those of the operator. */
export function Navigation({ operator, onNavigate }: Props) {
  const { own, operators } = usePlaces();
  const { pathname } = useLocation();
  const isOperating = operator && isWithin(pathname, "/operator");
  return (
    <Stack gap="sm">
      {operator && <Areas isOperating={isOperating} />}
      <Stack gap={2}>
        {(isOperating ? operators : own).map(({ to, label, icon: Icon, also }) => (
          <NavLink
            key={to}
            component={Link}
            to={to}
            // An area's first page is not also active on all pages below its address.
            activeOptions={{ exact: to === "/" || to === "/operator" }}
            label={label}
            leftSection={<Icon size={18} aria-hidden />}
            active={isHere(pathname, to, also)}
            aria-current={isHere(pathname, to, also) ? "page" : undefined}
            onClick={onNavigate}
            variant="light"
          />
        ))}
      </Stack>
    </Stack>
  );
}

/** Areas switches between the reader's own account and the operator's pages. */
function Areas({ isOperating }: { readonly isOperating: boolean }) {
  const t = useTexts(said);
  return (
    <Group grow gap={4} wrap="nowrap" className={classes.areas} role="group" aria-label={t.areas}>
      <Link to="/" className={classes.area} data-active={!isOperating || undefined} aria-current={!isOperating}>
        {t.own}
      </Link>
      <Link to="/operator" className={classes.area} data-active={isOperating || undefined} aria-current={isOperating}>
        {t.operator}
      </Link>
    </Group>
  );
}

function isHere(pathname: string, to: string, also: string | undefined): boolean {
  if (pathname === also) return true;
  return to === "/" || to === "/operator" ? pathname === to || pathname === `${to}/` : isWithin(pathname, to);
}

function isWithin(pathname: string, to: string): boolean {
  return pathname === to || pathname.startsWith(`${to}/`);
}
