/** Shows whether an account is active or suspended, as an icon and a word; and its billing. */
import { Group, Text } from "@mantine/core";
import { IconBan, IconCircleCheck } from "@tabler/icons-react";
import type { Account } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";

const said = texts(
  { active: "Active", suspended: "Suspended", postpaid: "Postpaid", prepaid: "Prepaid" },
  { active: "正常", suspended: "已停用", postpaid: "后付费", prepaid: "预付费" },
);

export function AccountState({ of: { suspendedAt } }: { readonly of: Account }) {
  const t = useTexts(said);
  const Icon = suspendedAt ? IconBan : IconCircleCheck;
  return (
    <Group gap={6} wrap="nowrap">
      <Icon size={16} aria-hidden />
      <Text inherit span>
        {suspendedAt ? t.suspended : t.active}
      </Text>
    </Group>
  );
}

export function useBillingWord(): (account: Account) => string {
  const t = useTexts(said);
  return ({ postpaid }) => (postpaid ? t.postpaid : t.prepaid);
}
