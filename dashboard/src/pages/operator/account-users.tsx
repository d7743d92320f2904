/** An account's users, and a button to invite another. */
import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconUserPlus, IconUsers } from "@tabler/icons-react";
import type { Account } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Empty } from "../../parts/empty.tsx";
import { PagedList } from "../../parts/paged-list.tsx";
import { Section } from "../../parts/section.tsx";
import { Invite } from "./invite.tsx";
import { useUsers } from "./use-lists.ts";
import { UserTable } from "./user-table.tsx";

const said = texts(
  {
    title: "Users",
    invite: "Invite",
    none: "No users yet",
    noneHow: "Nobody signs in for this account. Invite a user; until then only its API keys are of use.",
  },
  {
    title: "用户",
    invite: "邀请",
    none: "此账户还没有用户",
    noneHow: "您可以邀请他人加入。在此之前，只能通过 API 密钥使用此账户。",
  },
);

export function AccountUsers({ account }: { readonly account: Account }) {
  const t = useTexts(said);
  const [inviting, invite] = useDisclosure();
  const users = useUsers(account.id);
  return (
    <Section
      title={t.title}
      actions={
        <Button variant="default" leftSection={<IconUserPlus size={16} aria-hidden />} onClick={invite.open}>
          {t.invite}
        </Button>
      }
    >
      <PagedList
        of={users}
        entriesOf={(page) => page.users}
        lines={2}
        empty={
          <Empty icon={IconUsers} title={t.none}>
            {t.noneHow}
          </Empty>
        }
      >
        {(all) => <UserTable users={all} withAccount={false} />}
      </PagedList>
      <Invite opened={inviting} onClose={invite.close} account={account.name} />
    </Section>
  );
}
