/** The signed-in user: e-mail address, account, rights. */
import { SimpleGrid } from "@mantine/core";
import { texts, useTexts } from "../../language/language.tsx";
import { Fact } from "../../parts/fact.tsx";
import { Moment } from "../../parts/moment.tsx";
import { Section } from "../../parts/section.tsx";
import { useUser } from "../../session.tsx";
import { ownSections } from "./own-sections.ts";

const said = texts(
  {
    title: ownSections.en.profile,
    email: "E-mail address",
    account: "Account",
    role: "Role",
    operator: "Operator",
    user: "User",
    since: "Registered",
  },
  {
    title: ownSections["zh-CN"].profile,
    email: "邮箱",
    account: "账户",
    role: "角色",
    operator: "网关管理员",
    user: "用户",
    since: "注册时间",
  },
);

export function ProfileSection() {
  const t = useTexts(said);
  const user = useUser();
  return (
    <Section id="profile" title={t.title}>
      <SimpleGrid component="dl" cols={{ base: 1, xs: 2, md: 4 }} m={0}>
        <Fact name={t.email}>{user.email}</Fact>
        <Fact name={t.account}>{user.accountName}</Fact>
        <Fact name={t.role}>{user.operator ? t.operator : t.user}</Fact>
        <Fact name={t.since}>
          <Moment at={user.createdAt} as="day" />
        </Fact>
      </SimpleGrid>
    </Section>
  );
}
