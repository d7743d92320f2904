/** The account's API keys: search, create, change, delete. */
import { create as messageOf } from "@bufbuild/protobuf";
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { Button } from "@mantine/core";
import { IconKey, IconPlus } from "@tabler/icons-react";
import { getRouteApi } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { type ApiKey, ApiKeySchema, KeyService } from "../../../../gen/modelgateway/v1/keys_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Answer } from "../../parts/answer.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Failure } from "../../parts/failure.tsx";
import { notify } from "../../parts/notify.ts";
import { Page } from "../../parts/page.tsx";
import { CreateKey } from "./create-key.tsx";
import { DeleteKey } from "./delete-key.tsx";
import { EditKey } from "./edit-key.tsx";
import { useForgetKeys } from "./forget.ts";
import { FoundKeys } from "./found-keys.tsx";
import type { KeyDialog } from "./key-menu.tsx";
import { RotateKey } from "./rotate-key.tsx";
import { UseIt } from "./use-it.tsx";

const said = texts(
  {
    title: "API keys",
    about:
      "Programs authenticate with these. Each has limits of its own; all of them spend the balance of the account.",
    create: "Create key",
    none: "No API keys yet",
    first: "A program needs a key to call models. Create one, and its secret is shown once.",
    enabled: (name: string) => `Key “${name}” enabled`,
    disabled: (name: string) => `Key “${name}” disabled`,
    use: (name: string) => `Use “${name}”`,
  },
  {
    title: "API 密钥",
    about: "程序使用密钥进行身份验证。每个密钥有各自的限制，费用均从账户余额中扣除。",
    create: "创建密钥",
    none: "还没有 API 密钥",
    first: "程序需要密钥才能调用模型。创建后，密钥内容只显示一次。",
    enabled: (name: string) => `已启用密钥“${name}”`,
    disabled: (name: string) => `已停用密钥“${name}”`,
    use: (name: string) => `使用“${name}”`,
  },
);

const route = getRouteApi("/signed-in/keys");

/** Opened is the open dialog. A closed dialog keeps its key while it fades out. */
interface Opened {
  readonly dialog: KeyDialog | "create" | undefined;
  readonly key: ApiKey;
}

/** noKey is the dialogs' key before any was opened. */
const noKey = messageOf(ApiKeySchema);

export function KeysPage() {
  const t = useTexts(said);
  const keys = useQuery(KeyService.method.listKeys, {});
  const forget = useForgetKeys();
  const change = useMutation(KeyService.method.updateKey, { onSettled: forget });
  const { create: isAsked, find } = route.useSearch();
  const navigate = route.useNavigate();
  const [{ dialog, key }, setOpened] = useState<Opened>({ dialog: undefined, key: noKey });
  useEffect(() => {
    if (!isAsked) return;
    setOpened({ dialog: "create", key: noKey });
    void navigate({ search: {}, replace: true });
  }, [isAsked, navigate]);
  const open = (opened: Opened) => {
    change.reset();
    setOpened(opened);
  };
  const close = () => setOpened({ dialog: undefined, key });
  const switchKey = ({ id, name }: ApiKey, disabled: boolean) =>
    change.mutate({ id, disabled }, { onSuccess: () => notify(disabled ? t.disabled(name) : t.enabled(name)) });
  const create = (
    <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={() => open({ dialog: "create", key })}>
      {t.create}
    </Button>
  );
  const isEmpty = keys.data?.keys.length === 0;
  return (
    <Page title={t.title} about={t.about} actions={isEmpty ? undefined : create}>
      {change.error && <Failure error={change.error} />}
      <Answer of={keys} lines={6}>
        {({ keys: all }) =>
          all.length === 0 ? (
            <Empty icon={IconKey} title={t.none} action={create}>
              {t.first}
            </Empty>
          ) : (
            <FoundKeys
              key={find}
              among={all}
              find={find}
              onOpen={(wanted, of) => open({ dialog: wanted, key: of })}
              onSwitch={switchKey}
            />
          )
        }
      </Answer>
      <CreateKey opened={dialog === "create"} onClose={close} />
      <EditKey of={key} opened={dialog === "edit"} onClose={close} />
      <RotateKey of={key} opened={dialog === "rotate"} onClose={close} />
      <DeleteKey of={key} opened={dialog === "delete"} onClose={close} />
      <Dialog size="lg" opened={dialog === "use"} onClose={close} title={t.use(key.name)}>
        <UseIt of={key} />
      </Dialog>
    </Page>
  );
}
