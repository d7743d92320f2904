/** The links to the pages. */
import { NavLink, Stack, Text } from "@mantine/core";
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
} from "@tabler/icons-react";
import { Link, type LinkProps, useLocation } from "@tanstack/react-router";
import type { ComponentType } from "react";
import { texts, useTexts } from "../language/language.tsx";

const said = texts(
  {
    overview: "Overview",
    keys: "API keys",
    usage: "Usage",
    recharge: "Recharge",
    models: "Models",
    playground: "Playground",
    settings: "Settings",
    operator: "Operator",
    accounts: "Accounts",
    users: "Users",
    codes: "Redeem codes",
    upstreams: "Upstreams",
    requests: "All requests",
    limits: "Limits",
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
    operator: "运营",
    accounts: "账户",
    users: "用户",
    codes: "兑换码",
    upstreams: "上游",
    requests: "全部请求",
    limits: "限制",
    audit: "审计日志",
  },
);

type Name = keyof typeof said.en;
type Place = readonly [to: LinkProps["to"] & string, name: Name, icon: ComponentType<{ readonly size?: number }>];

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
  ["/operator/accounts", "accounts", IconBuilding],
  ["/operator/users", "users", IconUsers],
  ["/operator/codes", "codes", IconTicket],
  ["/operator/upstreams", "upstreams", IconCloud],
  ["/operator/requests", "requests", IconList],
  ["/operator/limits", "limits", IconGauge],
  ["/operator/audit", "audit", IconHistory],
];

interface Props {
  readonly operator: boolean;
  readonly onNavigate: () => void;
}

export function Navigation({ operator, onNavigate }: Props) {
  const t = useTexts(said);
  const { pathname } = useLocation();
  const isHere = (to: string) => (to === "/" ? pathname === "/" : pathname === to || pathname.startsWith(`${to}/`));
  const link = ([to, name, Icon]: Place) => (
    <NavLink
      key={to}
      component={Link}
      to={to}
      label={t[name]}
      leftSection={<Icon size={18} aria-hidden />}
      active={isHere(to)}
      aria-current={isHere(to) ? "page" : undefined}
      onClick={onNavigate}
      variant="light"
    />
  );
  return (
    <Stack gap={2}>
      {places.map(link)}
      {operator && (
        <>
          <Text size="xs" fw={600} c="dimmed" tt="uppercase" px="sm" pt="md" pb={4}>
            {t.operator}
          </Text>
          {operatorPlaces.map(link)}
        </>
      )}
    </Stack>
  );
}
