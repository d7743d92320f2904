/** Offers what is done most, as items. */
import { useMutation } from "@connectrpc/connect-query";
import { useComputedColorScheme, useMantineColorScheme } from "@mantine/core";
import { IconLanguage, IconLogout, IconPlus, IconSunMoon } from "@tabler/icons-react";
import { useNavigate } from "@tanstack/react-router";
import { SessionService } from "../../../gen/modelgateway/v1/sessions_pb.ts";
import { languages, texts, useLanguage } from "../language/language.tsx";
import { useSession } from "../session.tsx";
import { useBothNames } from "./both-names.ts";
import type { Item } from "./item.ts";

const said = texts(
  {
    createKey: "Create a key",
    addUpstream: "Add an upstream",
    addModel: "Add a model",
    theme: "Switch between light and dark",
    en: "Switch to English",
    "zh-CN": `Switch to ${languages["zh-CN"]}`,
    signOut: "Sign out",
  },
  {
    createKey: "创建密钥",
    addUpstream: "添加上游",
    addModel: "添加模型",
    theme: "切换浅色或深色主题",
    en: `切换到 ${languages.en}`,
    "zh-CN": "切换到简体中文",
    signOut: "退出登录",
  },
);

export function useActions(operator: boolean): readonly Item[] {
  const names = useBothNames(said);
  const navigate = useNavigate();
  const { refresh } = useSession();
  const { language, speak } = useLanguage();
  const { setColorScheme } = useMantineColorScheme();
  const scheme = useComputedColorScheme("light");
  const signOut = useMutation(SessionService.method.signOut, { onSettled: refresh });
  const other = language === "en" ? "zh-CN" : "en";
  const action = (name: keyof typeof said.en, icon: Item["icon"], run: () => void, stays = false): Item => ({
    ...{ id: `do ${name}`, names: names(name), icon, run, stays },
  });
  const add = (to: "/operator/add-upstream" | "/operator/add-model") => () => void navigate({ to });
  const operators = [
    action("addUpstream", IconPlus, add("/operator/add-upstream")),
    action("addModel", IconPlus, add("/operator/add-model")),
  ];
  return [
    action("createKey", IconPlus, () => void navigate({ to: "/keys", search: { create: true } })),
    ...(operator ? operators : []),
    action("theme", IconSunMoon, () => setColorScheme(scheme === "light" ? "dark" : "light"), true),
    action(other, IconLanguage, () => speak(other), true),
    action("signOut", IconLogout, () => signOut.mutate({})),
  ];
}
