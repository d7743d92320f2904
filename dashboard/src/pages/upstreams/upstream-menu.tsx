/** Switches a stored upstream off and on, and removes it with what depends on it. */
import { Alert, Code, Group, Menu, Stack, Text } from "@mantine/core";
import { IconAlertTriangle, IconPencil, IconPlayerPause, IconPlayerPlay, IconTrash } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { Configuration } from "../../../../gen/modelgateway/v1/configuration_pb.ts";
import { entryOf, withValues } from "../../configuration/document.ts";
import { SaveChanges } from "../../configuration/save-changes.tsx";
import type { Change } from "../../configuration/use-configuration.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { ActionsMenu } from "../../parts/actions-menu.tsx";
import { Breakable } from "../../parts/breakable.tsx";
import text from "../../parts/text.module.css";
import { type Dependents, dependentsOf, removalOf } from "./dependents.ts";

const said = texts(
  {
    actions: (name: string) => `Actions for ${name}`,
    edit: "Change",
    off: "Switch off",
    on: "Switch on",
    remove: "Remove",
    removeTitle: (name: string) => `Remove ${name}`,
    offTitle: (name: string) => `Switch ${name} off`,
    onTitle: (name: string) => `Switch ${name} on`,
    offAbout: "It gets no further calls; those under way end whole. Its settings are kept.",
    onAbout: "It gets calls again.",
    removeAbout: "It gets no further calls; those under way end whole.",
    only: "No other upstream serves these models. They are not served while it is off:",
    onlyRemoved: "No other upstream serves these models. They are removed, too:",
    among: "These models keep their other targets:",
    inFile: "These models are written in gateway.yaml. Take their targets at this upstream out there first:",
  },
  {
    actions: (name: string) => `${name} 的操作`,
    edit: "更改",
    off: "停用",
    on: "启用",
    remove: "删除",
    removeTitle: (name: string) => `删除 ${name}`,
    offTitle: (name: string) => `停用 ${name}`,
    onTitle: (name: string) => `启用 ${name}`,
    offAbout: "不再接收新的调用，进行中的调用会完整结束。设置予以保留。",
    onAbout: "重新接收调用。",
    removeAbout: "不再接收新的调用，进行中的调用会完整结束。",
    only: "以下模型没有其他上游，停用期间不可用：",
    onlyRemoved: "以下模型没有其他上游，将一并删除：",
    among: "以下模型保留其他目标：",
    inFile: "以下模型写在 gateway.yaml 中，请先在该文件中移除其位于此上游的目标：",
  },
);

interface Props {
  readonly name: string;
  readonly configuration: Configuration;
  readonly isServed: boolean;
  /** onRemoved is called after it was removed. */
  readonly onRemoved?: () => void;
}

type Act = "off" | "on" | "remove";

export function UpstreamMenu({ name, configuration, isServed, onRemoved }: Props) {
  const t = useTexts(said);
  const [act, setAct] = useState<Act>();
  // The dialog keeps its title while it closes.
  const [shown, setShown] = useState<Act>("off");
  const begin = (next: Act) => {
    setShown(next);
    setAct(next);
  };
  const dependents = dependentsOf(configuration, name);
  const titles = { off: t.offTitle(name), on: t.onTitle(name), remove: t.removeTitle(name) };
  const labels = { off: t.off, on: t.on, remove: t.remove };
  return (
    <>
      <ActionsMenu label={t.actions(name)}>
        <Menu.Item
          component={Link}
          to="/operator/upstreams/$upstream"
          params={{ upstream: name } as never}
          leftSection={<IconPencil size={16} aria-hidden />}
        >
          {t.edit}
        </Menu.Item>
        {isServed ? (
          <Menu.Item leftSection={<IconPlayerPause size={16} aria-hidden />} onClick={() => begin("off")}>
            {t.off}
          </Menu.Item>
        ) : (
          <Menu.Item leftSection={<IconPlayerPlay size={16} aria-hidden />} onClick={() => begin("on")}>
            {t.on}
          </Menu.Item>
        )}
        <Menu.Item color="red.9" leftSection={<IconTrash size={16} aria-hidden />} onClick={() => begin("remove")}>
          {t.remove}
        </Menu.Item>
      </ActionsMenu>
      <SaveChanges
        opened={act !== undefined}
        onClose={() => setAct(undefined)}
        title={titles[shown]}
        base={configuration.version}
        changes={changesOf(shown, configuration, name)}
        action={labels[shown]}
        final={shown === "remove"}
        onSaved={shown === "remove" ? onRemoved : undefined}
      >
        <Consequences act={shown} of={dependents} />
      </SaveChanges>
    </>
  );
}

function changesOf(act: Act, configuration: Configuration, name: string): readonly Change[] {
  if (act === "remove") return removalOf(configuration, name);
  const entry = entryOf(configuration.document, "upstreams", name) ?? {};
  return [{ upstream: withValues(entry, { disabled: act === "off" ? true : undefined }) }];
}

function Consequences({ act, of }: { readonly act: Act; readonly of: Dependents }) {
  const t = useTexts(said);
  const about = { off: t.offAbout, on: t.onAbout, remove: t.removeAbout }[act];
  const parts: readonly (readonly [title: string, names: readonly string[]])[] =
    act === "on"
      ? []
      : [
          [act === "remove" ? t.onlyRemoved : t.only, of.only],
          [t.among, of.among],
          ...(act === "remove" ? [[t.inFile, of.inFile] as const] : []),
        ];
  const shown = parts.filter(([, names]) => names.length > 0);
  return (
    <Stack gap="sm">
      <Text size="sm">{about}</Text>
      {shown.length > 0 && (
        <Alert color="yellow" icon={<IconAlertTriangle aria-hidden />}>
          <Stack gap="xs">
            {shown.map(([title, names]) => (
              <div key={title}>
                <Text size="sm" mb={4}>
                  {title}
                </Text>
                <Group gap={6}>
                  {names.map((name) => (
                    <Code key={name} className={text.anywhere}>
                      <Breakable>{name}</Breakable>
                    </Code>
                  ))}
                </Group>
              </div>
            ))}
          </Stack>
        </Alert>
      )}
    </Stack>
  );
}
