/**
 * The edition of the configuration that a form shows. It stays while somebody types, whatever is saved meanwhile, and gives way to the
 * newest one when nothing would be lost: before anything is typed, and once the form itself has been saved.
 */
import { useEffect, useState } from "react";
import type { Configuration } from "../../../gen/modelgateway/v1/configuration_pb.ts";

export interface Edition {
  /** edition is the key of the form, too: another one is a new form. */
  readonly edition: Configuration;
  /** onDirty is told whether something has been typed that is not saved. */
  readonly onDirty: (isDirty: boolean) => void;
  /** onSaved is told the version that the form was saved as. */
  readonly onSaved: (version: number) => void;
}

export function useEdition(newest: Configuration): Edition {
  const [edition, setEdition] = useState(newest);
  const [isDirty, setDirty] = useState(false);
  const [awaited, setAwaited] = useState<number>();
  const isSaved = awaited !== undefined && newest.version >= awaited;
  if (newest !== edition && (isSaved || !isDirty)) {
    setEdition(newest);
    setDirty(false);
    setAwaited(undefined);
  }
  return { edition, onDirty: setDirty, onSaved: setAwaited };
}

/** useDirty tells an edition whether its form has something that is not saved. */
export function useDirty(isDirty: boolean, onDirty: ((isDirty: boolean) => void) | undefined): void {
  useEffect(() => onDirty?.(isDirty), [isDirty, onDirty]);
}
