/** The users of the dashboard. */
import { Button, Paper, Stack } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconUserPlus, IconUsers } from "@tabler/icons-react";
import { getRouteApi } from "@tanstack/react-router";
import { texts, useTexts } from "../../language/language.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Page } from "../../parts/page.tsx";
import { PagedList } from "../../parts/paged-list.tsx";
import type { UserSearch } from "../../search.ts";
import { Invite } from "./invite.tsx";
import { SearchField, useSearch } from "./search-field.tsx";
import { useUsers } from "./use-lists.ts";
import { UserTable } from "./user-table.tsx";

const said = texts(
  {
    title: "Users",
    about: "Who may sign in to the dashboard, each for one account.",
    invite: "Invite a user",
    search: "Search users",
    hint: "E-mail, usr_… or acc_…",
    none: "No users match",
    noneHow: "Users are found by a part of their e-mail address, or by their own or their account's whole id.",
  },
  {
    title: "用户",
    about: "可以登录控制台的用户，每位用户属于一个账户。",
    invite: "邀请用户",
    search: "搜索用户",
    hint: "邮箱、usr_… 或 acc_…",
    none: "没有匹配的用户",
    noneHow: "可按邮箱的一部分、用户 ID 或账户 ID 查找用户。",
  },
);

const route = getRouteApi("/signed-in/operator/users");

export function UsersPage() {
  const { find } = route.useSearch();
  return <Users key={find} {...(find === undefined ? {} : { find })} />;
}

/** Users shows those that match; `find` is what is searched for at first. */
function Users({ find }: UserSearch) {
  const t = useTexts(said);
  const { search, field } = useSearch(find);
  const [inviting, invite] = useDisclosure();
  const users = useUsers(search);
  return (
    <Page
      title={t.title}
      about={t.about}
      actions={
        <Button leftSection={<IconUserPlus size={16} aria-hidden />} onClick={invite.open}>
          {t.invite}
        </Button>
      }
    >
      <Stack>
        <SearchField of={field} label={t.search} hint={t.hint} />
        <PagedList
          of={users}
          entriesOf={(page) => page.users}
          empty={
            <Paper withBorder>
              <Empty icon={IconUsers} title={t.none}>
                {t.noneHow}
              </Empty>
            </Paper>
          }
        >
          {(found) => <UserTable users={found} withAccount />}
        </PagedList>
      </Stack>
      <Invite opened={inviting} onClose={invite.close} />
    </Page>
  );
}
