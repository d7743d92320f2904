/** Shows the signed-in user, and signs out. */
import { useMutation } from "@connectrpc/connect-query";
import { ActionIcon, Menu, Text } from "@mantine/core";
import { IconBook, IconLogout, IconSettings, IconUserCircle } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import type { User } from "../../../gen/modelgateway/v1/operator_pb.ts";
import { SessionService } from "../../../gen/modelgateway/v1/sessions_pb.ts";
import { texts, useTexts } from "../language/language.tsx";
import text from "../parts/text.module.css";
import { useSession } from "../session.tsx";

const said = texts(
  {
    user: (email: string) => `Signed in as ${email}`,
    settings: "Settings",
    docs: "Documentation",
    signOut: "Sign out",
  },
  { user: (email: string) => `已登录：${email}`, settings: "设置", docs: "文档", signOut: "退出登录" },
);

export function UserMenu({ user }: { readonly user: User }) {
  const t = useTexts(said);
  const { refresh, hasDocs } = useSession();
  const signOut = useMutation(SessionService.method.signOut, { onSettled: refresh });
  return (
    <Menu position="bottom-end" width={240} withInitialFocusPlaceholder={false}>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" size="lg" aria-label={t.user(user.email)}>
          <IconUserCircle size={22} aria-hidden />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          <Text size="sm" className={text.anywhere}>
            {user.email}
          </Text>
          <Text size="xs" className={text.anywhere}>
            {user.accountName}
          </Text>
        </Menu.Label>
        <Menu.Divider />
        <Menu.Item component={Link} to="/settings" leftSection={<IconSettings size={16} aria-hidden />}>
          {t.settings}
        </Menu.Item>
        {hasDocs && (
          <Menu.Item component="a" href="/docs/" target="_blank" leftSection={<IconBook size={16} aria-hidden />}>
            {t.docs}
          </Menu.Item>
        )}
        <Menu.Item leftSection={<IconLogout size={16} aria-hidden />} onClick={() => signOut.mutate({})}>
          {t.signOut}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
