/** Deletes a key after its name has been typed. */
import { useMutation } from "@connectrpc/connect-query";
import { type ApiKey, KeyService } from "../../../../gen/modelgateway/v1/keys_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Confirm } from "../../parts/confirm.tsx";
import { notify } from "../../parts/notify.ts";
import { useForgetKeys } from "./forget.ts";

/** deletion is what is said of deleting a key, whoever deletes it. */
export const deletion = texts(
  {
    title: (name: string) => `Delete “${name}”`,
    about:
      "Calls with this key are refused from now on, for good. What it used and what that cost stay in the records.",
    action: "Delete key",
    done: (name: string) => `Key “${name}” deleted`,
  },
  {
    title: (name: string) => `删除“${name}”`,
    about: "使用此密钥的调用将从现在起被永久拒绝。其用量和费用记录会保留。",
    action: "删除密钥",
    done: (name: string) => `已删除密钥“${name}”`,
  },
);

interface Props {
  readonly of: ApiKey;
  readonly opened: boolean;
  readonly onClose: () => void;
}

export function DeleteKey({ of, opened, onClose }: Props) {
  const t = useTexts(deletion);
  const forget = useForgetKeys();
  const remove = useMutation(KeyService.method.deleteKey, { onSettled: forget });
  const close = () => {
    remove.reset();
    onClose();
  };
  const finish = () => {
    notify(t.done(of.name));
    close();
  };
  return (
    <Confirm
      opened={opened}
      onClose={close}
      title={t.title(of.name)}
      name={of.name}
      action={t.action}
      onConfirm={() => remove.mutate({ id: of.id }, { onSuccess: finish })}
      busy={remove.isPending}
      error={remove.error}
    >
      {t.about}
    </Confirm>
  );
}
