/** Locked says why the stored configuration cannot be changed now, and what to do; nothing where it can. */
import { Alert } from "@mantine/core";
import { IconLock } from "@tabler/icons-react";
import type { Configuration } from "../../../gen/modelgateway/v1/configuration_pb.ts";
import { lockedInChinese } from "../language/conflict-texts.ts";
import { useLanguage } from "../language/language.tsx";

export function Locked({ of: { locked } }: { readonly of: Pick<Configuration, "locked"> }) {
  const { language } = useLanguage();
  if (locked === undefined) return null;
  return (
    <Alert color="yellow" icon={<IconLock aria-hidden />}>
      {language === "zh-CN" ? lockedInChinese : locked}
    </Alert>
  );
}
