/**
 * The playground: chat or speech with a model. Its calls use one of the account's keys, with that key's limits,
 * permissions and charges.
 */
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { useQuery } from "@connectrpc/connect-query";
import { Button, Group, Select, Stack } from "@mantine/core";
import { IconKey, IconStack2 } from "@tabler/icons-react";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { AccountService, type CatalogModel, ModelKind } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import { type ApiKey, KeyService } from "../../../../gen/modelgateway/v1/keys_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Answer } from "../../parts/answer.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Page } from "../../parts/page.tsx";
import { Chat } from "./chat.tsx";
import { Speech } from "./speech.tsx";

const said = texts(
  {
    title: "Playground",
    about:
      "Try a model with one of your keys: its limits, permissions and charges apply. Nothing that is said here is stored.",
    key: "Key",
    model: "Model",
    chat: "Chat",
    speech: "Speech",
    noKey: "No key to call with",
    makeKey: "Calling a model takes an active key of your account.",
    keys: "Go to the keys",
    noModel: "No model to try",
    noneCallable: "Your account may call none of the gateway’s chat and speech models.",
    models: "See the models",
  },
  {
    title: "试验场",
    about: "使用您的一个密钥试用模型：其限制、权限和收费同样有效。此处的内容不会被保存。",
    key: "密钥",
    model: "模型",
    chat: "对话",
    speech: "语音",
    noKey: "没有可用的密钥",
    makeKey: "调用模型需要您账户中一个有效的密钥。",
    keys: "前往密钥页面",
    noModel: "没有可试用的模型",
    noneCallable: "网关的对话和语音模型均不能由您的账户调用。",
    models: "查看模型",
  },
);

export function PlaygroundPage() {
  const t = useTexts(said);
  const keys = useQuery(KeyService.method.listKeys, {});
  const catalog = useQuery(AccountService.method.listCatalog, {});
  return (
    <Page title={t.title} about={t.about}>
      <Answer of={keys} lines={6}>
        {(listed) => (
          <Answer of={catalog} lines={6}>
            {({ models }) => <Trial keys={listed.keys.filter(isActive)} models={models.filter(isTriable)} />}
          </Answer>
        )}
      </Answer>
    </Page>
  );
}

function isActive({ disabled, expiresAt }: ApiKey): boolean {
  return !disabled && (!expiresAt || timestampDate(expiresAt).getTime() > Date.now());
}

function isTriable({ kind, callable }: CatalogModel): boolean {
  return callable && (kind === ModelKind.CHAT || kind === ModelKind.SPEECH);
}

interface Props {
  readonly keys: readonly ApiKey[];
  readonly models: readonly CatalogModel[];
}

function Trial({ keys, models }: Props) {
  const t = useTexts(said);
  const { model: sought } = useSearch({ from: "/signed-in/playground" });
  const navigate = useNavigate();
  const [keyId, setKeyId] = useState<string>();
  const key = keys.find(({ id }) => id === keyId) ?? keys[0];
  const model = models.find(({ id, aliases }) => id === sought || aliases.includes(sought ?? "")) ?? models[0];
  if (!key) return <Nothing icon={IconKey} title={t.noKey} says={t.makeKey} to="/keys" label={t.keys} />;
  if (!model)
    return <Nothing icon={IconStack2} title={t.noModel} says={t.noneCallable} to="/models" label={t.models} />;
  const named = (kind: ModelKind) => models.filter((one) => one.kind === kind).map(({ id }) => id);
  const groups = [
    { group: t.chat, items: named(ModelKind.CHAT) },
    { group: t.speech, items: named(ModelKind.SPEECH) },
  ];
  return (
    <Stack>
      <Group gap="sm">
        <Select
          label={t.model}
          data={groups.filter(({ items }) => items.length > 0)}
          value={model.id}
          onChange={(id) => id && void navigate({ to: "/playground", search: { model: id }, replace: true })}
          searchable
          allowDeselect={false}
          w={{ base: "100%", xs: 260 }}
        />
        <Select
          label={t.key}
          data={keys.map(({ id, name }) => ({ value: id, label: name }))}
          value={key.id}
          onChange={(id) => id && setKeyId(id)}
          searchable
          allowDeselect={false}
          w={{ base: "100%", xs: 260 }}
        />
      </Group>
      {model.kind === ModelKind.SPEECH ? (
        <Speech keyId={key.id} model={model.id} />
      ) : (
        <Chat keyId={key.id} model={model.id} models={named(ModelKind.CHAT)} />
      )}
    </Stack>
  );
}

interface NothingProps {
  readonly icon: typeof IconKey;
  readonly title: string;
  readonly says: string;
  readonly to: "/keys" | "/models";
  readonly label: string;
}

function Nothing({ icon, title, says, to, label }: NothingProps) {
  const action = (
    <Button component={Link} to={to} variant="default">
      {label}
    </Button>
  );
  return (
    <Empty icon={icon} title={title} action={action}>
      {says}
    </Empty>
  );
}
