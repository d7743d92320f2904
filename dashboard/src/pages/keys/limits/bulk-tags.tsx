/** Adds tags to several keys at once, and removes tags from them. A key that fails stops none of the others. */
import { callUnaryMethod, useTransport } from "@connectrpc/connect-query";
import { MultiSelect, Stack, TagsInput, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { type ApiKey, KeyService } from "../../../../../gen/modelgateway/v1/keys_pb.ts";
import { counted } from "../../../language/counted.ts";
import { texts, useTexts } from "../../../language/language.tsx";
import { Dialog } from "../../../parts/dialog.tsx";
import { Failure } from "../../../parts/failure.tsx";
import { FormButtons } from "../../../parts/form-buttons.tsx";
import { notify } from "../../../parts/notify.ts";
import { useForgetKeys } from "../forget.ts";
import { most } from "./limit-values.ts";
import { labelsAmong, useKnownLabels } from "./use-known-labels.ts";

const said = texts(
  {
    title: (count: number) => `Tags of ${counted(count, "key")}`,
    about: "All else of the keys stays as it is.",
    add: "Add",
    addHint: "Type a tag, then Enter",
    remove: "Remove",
    removeHint: "Choose tags",
    action: "Change tags",
    done: (count: number) => `${counted(count, "key")} changed`,
  },
  {
    title: (count: number) => `${count} 个密钥的标签`,
    about: "密钥的其他设置保持不变。",
    add: "添加",
    addHint: "输入标签后按回车键",
    remove: "移除",
    removeHint: "选择标签",
    action: "更改标签",
    done: (count: number) => `已更改 ${count} 个密钥`,
  },
);

interface Props {
  readonly keys: readonly ApiKey[];
  readonly opened: boolean;
  readonly onClose: () => void;
}

export function BulkTags({ keys, opened, onClose }: Props) {
  const t = useTexts(said);
  return (
    <Dialog opened={opened} onClose={onClose} title={t.title(keys.length)}>
      <Choosing keys={keys} onClose={onClose} />
    </Dialog>
  );
}

interface Change {
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

function Choosing({ keys, onClose }: Omit<Props, "opened">) {
  const t = useTexts(said);
  const [added, setAdded] = useState<string[]>([]);
  const [removed, setRemoved] = useState<string[]>([]);
  const known = useKnownLabels();
  const change = useTagging(keys);
  const submit = () => change.mutate({ added, removed }, { onSuccess: onClose });
  return (
    <Stack>
      <Text size="sm">{t.about}</Text>
      <TagsInput
        label={t.add}
        placeholder={added.length === 0 ? t.addHint : ""}
        data={[...known.tags]}
        value={added}
        onChange={setAdded}
        maxTags={most.tags}
        acceptValueOnBlur
        data-autofocus
      />
      <MultiSelect
        label={t.remove}
        placeholder={removed.length === 0 ? t.removeHint : ""}
        data={[...labelsAmong(keys).tags]}
        value={removed}
        onChange={setRemoved}
        searchable
      />
      {change.error && <Failure error={change.error} />}
      <FormButtons action={t.action} busy={change.isPending} onAction={submit} onCancel={onClose} />
    </Stack>
  );
}

function useTagging(keys: readonly ApiKey[]) {
  const t = useTexts(said);
  const transport = useTransport();
  const forget = useForgetKeys();
  return useMutation({
    async mutationFn(change: Change) {
      let [changed, failure]: [number, unknown] = [0, undefined];
      for (const key of keys) {
        const tags = tagsAfter(key.tags, change);
        if (tags.join("\n") === key.tags.join("\n")) continue;
        try {
          await callUnaryMethod(transport, KeyService.method.updateKey, { id: key.id, tags: { tags } });
          changed++;
        } catch (error) {
          failure = error;
        }
      }
      notify(t.done(changed));
      if (failure !== undefined) throw failure;
    },
    onSettled: forget,
  });
}

function tagsAfter(before: readonly string[], { added, removed }: Change): string[] {
  return [...new Set([...before.filter((tag) => !removed.includes(tag)), ...added])];
}
