/** Buttons that change several keys at once, each after a confirmation. A key that fails stops none of the others. */
import { callUnaryMethod, useTransport } from "@connectrpc/connect-query";
import { Button, Group, Paper, Stack, Text } from "@mantine/core";
import { IconPlayerPause, IconPlayerPlay, IconTag, IconTrash, IconX } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { type ApiKey, KeyService } from "../../../../gen/modelgateway/v1/keys_pb.ts";
import { counted } from "../../language/counted.ts";
import { useJoin } from "../../language/join.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Confirm } from "../../parts/confirm.tsx";
import { notify } from "../../parts/notify.ts";
import { useForgetKeys } from "./forget.ts";
import { BulkTags } from "./limits/bulk-tags.tsx";

const said = texts(
  {
    selected: (count: number) => `${counted(count, "key")} selected`,
    bar: "Actions for the selected keys",
    none: "Select none",
    disable: "Disable",
    enable: "Enable",
    tag: "Tag",
    delete: "Delete",
    disableTitle: (count: number) => `Disable ${counted(count, "key")}`,
    enableTitle: (count: number) => `Enable ${counted(count, "key")}`,
    deleteTitle: (count: number) => `Delete ${counted(count, "key")}`,
    disableAbout: "Calls with these keys are refused until they are enabled again.",
    enableAbout: "Calls with these keys are answered again.",
    deleteAbout:
      "Calls with these keys are refused from now on, for good. What they used and cost stays in the records.",
    and: (count: number) => `and ${count} more`,
    word: "delete",
    done: (count: number) => `${counted(count, "key")} changed`,
  },
  {
    selected: (count: number) => `已选择 ${count} 个密钥`,
    bar: "对所选密钥的操作",
    none: "取消选择",
    disable: "停用",
    enable: "启用",
    tag: "标签",
    delete: "删除",
    disableTitle: (count: number) => `停用 ${count} 个密钥`,
    enableTitle: (count: number) => `启用 ${count} 个密钥`,
    deleteTitle: (count: number) => `删除 ${count} 个密钥`,
    disableAbout: "在重新启用之前，使用这些密钥的调用都会被拒绝。",
    enableAbout: "使用这些密钥的调用将恢复应答。",
    deleteAbout: "使用这些密钥的调用将从现在起被永久拒绝。其用量和费用记录会保留。",
    and: (count: number) => `另有 ${count} 个`,
    word: "删除",
    done: (count: number) => `已更改 ${count} 个密钥`,
  },
);

type Action = "disable" | "enable" | "delete";

interface Props {
  readonly keys: readonly ApiKey[];
  /** onDone gets the ids of the keys that are still to be selected: those that failed. */
  readonly onDone: (failed: readonly string[]) => void;
}

/** useBulk does the action to one key after another. It rejects with the last failure, once all were tried. */
function useBulk({ keys, onDone }: Props) {
  const t = useTexts(said);
  const transport = useTransport();
  const forget = useForgetKeys();
  const { updateKey, deleteKey } = KeyService.method;
  return useMutation({
    async mutationFn(action: Action) {
      const failed: string[] = [];
      let failure: unknown;
      for (const { id } of keys) {
        try {
          if (action === "delete") await callUnaryMethod(transport, deleteKey, { id });
          else await callUnaryMethod(transport, updateKey, { id, disabled: action === "disable" });
        } catch (error) {
          failed.push(id);
          failure = error;
        }
      }
      onDone(failed);
      notify(t.done(keys.length - failed.length));
      if (failure !== undefined) throw failure;
    },
    onSettled: forget,
  });
}

const namedKeys = 5;

export function BulkActions({ keys, onDone }: Props) {
  const t = useTexts(said);
  const [asked, setAsked] = useState<Action>();
  const [isTagging, setTagging] = useState(false);
  const bulk = useBulk({ keys, onDone });
  const open = (action: Action) => {
    bulk.reset();
    setAsked(action);
  };
  const join = useJoin();
  const shown = asked ?? "disable";
  return (
    <Paper withBorder p="xs" role="region" aria-label={t.bar}>
      <Group gap="xs">
        <Text size="sm" fw={500} mr="auto" role="status">
          {t.selected(keys.length)}
        </Text>
        <Tool icon={IconPlayerPlay} says={t.enable} on={() => open("enable")} />
        <Tool icon={IconPlayerPause} says={t.disable} on={() => open("disable")} />
        <Tool icon={IconTag} says={t.tag} on={() => setTagging(true)} />
        <Tool icon={IconTrash} says={t.delete} on={() => open("delete")} />
        <Tool icon={IconX} says={t.none} on={() => onDone([])} />
      </Group>
      <BulkTags keys={keys} opened={isTagging} onClose={() => setTagging(false)} />
      <Confirm
        opened={asked !== undefined}
        onClose={() => setAsked(undefined)}
        title={t[`${shown}Title`](keys.length)}
        {...(shown === "delete" ? { name: t.word } : {})}
        action={t[shown]}
        onConfirm={() => bulk.mutate(shown, { onSuccess: () => setAsked(undefined) })}
        busy={bulk.isPending}
        error={bulk.error}
      >
        <Stack gap="xs">
          <Text size="sm">{t[`${shown}About`]}</Text>
          <Text size="sm" c="dimmed">
            {join.list(keys.slice(0, namedKeys).map(({ name }) => name))}
            {keys.length > namedKeys && ` ${t.and(keys.length - namedKeys)}`}
          </Text>
        </Stack>
      </Confirm>
    </Paper>
  );
}

interface ToolProps {
  readonly icon: typeof IconX;
  readonly says: string;
  readonly on: () => void;
}

function Tool({ icon: Icon, says, on }: ToolProps) {
  return (
    <Button variant="default" size="xs" leftSection={<Icon size={14} aria-hidden />} onClick={on}>
      {says}
    </Button>
  );
}
