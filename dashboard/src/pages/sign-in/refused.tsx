/** Shows above a form why it was refused. */
import { Alert } from "@mantine/core";
import { IconAlertCircle } from "@tabler/icons-react";
import { useReasonMessage } from "../../parts/failure.tsx";
import { Reason, refusalOf } from "../../refusal.ts";

interface Props {
  readonly error: unknown;
  /** wrong is the message for wrong input, if the form knows more than the gateway reports. */
  readonly wrong?: string;
}

export function Refused({ error, wrong }: Props) {
  const tell = useReasonMessage();
  if (error == null) return null;
  const refusal = refusalOf(error);
  return (
    <Alert color="red" icon={<IconAlertCircle aria-hidden />} role="alert" p="sm">
      {wrong && refusal.reason === Reason.SIGN_IN_FAILED ? wrong : tell(refusal)}
    </Alert>
  );
}
