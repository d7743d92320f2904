/** Shows the page of a one-time link, or that the link is invalid. */
import { Alert, Anchor, Stack, Text } from "@mantine/core";
import { IconLinkOff } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { DescribeLinkResponse, LinkKind } from "../../../../gen/modelgateway/v1/sessions_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Answer } from "../../parts/answer.tsx";
import { Moment } from "../../parts/moment.tsx";
import { Reason, refusalOf } from "../../refusal.ts";
import type { useLink } from "./link.ts";

const said = texts(
  {
    bad: "This link does not work",
    why: "It was used before, has expired, or is not complete. Ask the operator of the gateway for a new one.",
    none: "This page needs a link",
    open: "Open the link that you were given, with everything behind its #.",
    until: "The link is valid until",
    signIn: "Go to the sign-in",
  },
  {
    bad: "此链接无效",
    why: "链接已被使用、已过期或不完整。请联系网关管理员获取新链接。",
    none: "此页面需要通过链接打开",
    open: "请打开您收到的链接，并包含 # 之后的全部内容。",
    until: "链接有效期至",
    signIn: "前往登录",
  },
);

interface Props {
  readonly link: ReturnType<typeof useLink>;
  readonly kind: LinkKind;
  readonly children: (of: DescribeLinkResponse) => ReactNode;
}

export function OpenLink({ link: { secret, description }, kind, children }: Props) {
  const t = useTexts(said);
  if (!secret) return <NoLink title={t.none}>{t.open}</NoLink>;
  if (description.error && refusalOf(description.error).reason === Reason.LINK_INVALID) {
    return <NoLink title={t.bad}>{t.why}</NoLink>;
  }
  return (
    <Answer of={description} lines={3}>
      {(of) =>
        of.kind === kind ? (
          <>
            {children(of)}
            <Text size="xs" c="dimmed">
              {t.until} <Moment at={of.expiresAt} />
            </Text>
          </>
        ) : (
          <NoLink title={t.bad}>{t.why}</NoLink>
        )
      }
    </Answer>
  );
}

export function NoLink({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  const t = useTexts(said);
  return (
    <Stack>
      <Alert color="gray" icon={<IconLinkOff aria-hidden />} title={title} role="alert">
        {children}
      </Alert>
      <Anchor component={Link} to="/sign-in" size="sm" underline="always">
        {t.signIn}
      </Anchor>
    </Stack>
  );
}
