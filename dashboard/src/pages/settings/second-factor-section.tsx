/** Turns the second factor on and off. */
import { Button, Group, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconShieldCheck, IconShieldOff } from "@tabler/icons-react";
import { texts, useTexts } from "../../language/language.tsx";
import { Section } from "../../parts/section.tsx";
import { useUser } from "../../session.tsx";
import { DisableSecondFactor } from "./disable-second-factor.tsx";
import { EnableSecondFactor } from "./enable-second-factor.tsx";
import { ownSections } from "./own-sections.ts";

const said = texts(
  {
    title: ownSections.en["second-factor"],
    about: "With it, signing in takes a code from an authenticator app besides the password.",
    on: "On. Signing in asks for a code.",
    off: "Off. Your password is enough to sign in.",
    turnOn: "Turn on",
    turnOff: "Turn off",
  },
  {
    title: ownSections["zh-CN"]["second-factor"],
    about: "启用后，登录时除密码外还需输入身份验证器应用中的验证码。",
    on: "已启用。登录时需要输入验证码。",
    off: "未启用。仅凭密码即可登录。",
    turnOn: "启用",
    turnOff: "停用",
  },
);

export function SecondFactorSection() {
  const t = useTexts(said);
  const { secondFactor } = useUser();
  const [enabling, enable] = useDisclosure();
  const [disabling, disable] = useDisclosure();
  const Icon = secondFactor ? IconShieldCheck : IconShieldOff;
  return (
    <Section
      id="second-factor"
      title={t.title}
      about={t.about}
      actions={
        <Button variant="default" onClick={secondFactor ? disable.open : enable.open}>
          {secondFactor ? t.turnOff : t.turnOn}
        </Button>
      }
    >
      <Group gap="xs" wrap="nowrap">
        <Icon size={20} aria-hidden />
        <Text size="sm">{secondFactor ? t.on : t.off}</Text>
      </Group>
      <EnableSecondFactor opened={enabling} onClose={enable.close} />
      <DisableSecondFactor opened={disabling} onClose={disable.close} />
    </Section>
  );
}
