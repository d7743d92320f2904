/** Shows what one version changed, against the version before it. */
import { useQuery } from "@connectrpc/connect-query";
import { OperatorService } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { DifferenceList } from "../../configuration/difference-list.tsx";
import { texts, useTexts } from "../../language/language.tsx";
import { Answer } from "../../parts/answer.tsx";
import { Dialog } from "../../parts/dialog.tsx";

const said = texts(
  { title: (version: string) => `What version ${version} changed` },
  { title: (version: string) => `版本 ${version} 的更改` },
);

interface Props {
  /** version is undefined while nothing is shown. */
  readonly version: number | undefined;
  readonly onClose: () => void;
}

export function ShowVersion({ version, onClose }: Props) {
  const t = useTexts(said);
  return (
    <Dialog size="lg" opened={version !== undefined} onClose={onClose} title={t.title(String(version ?? ""))}>
      {version !== undefined && <Shown version={version} />}
    </Dialog>
  );
}

function Shown({ version }: { readonly version: number }) {
  const compared = useQuery(OperatorService.method.compareConfigurations, { from: version - 1, to: version });
  return (
    <Answer of={compared} lines={4}>
      {({ differences }) => <DifferenceList of={differences} />}
    </Answer>
  );
}
