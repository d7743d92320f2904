/**
 * Has changes checked before they are reviewed: what the gateway does not take is told in the form, and the dialog opens for what it
 * takes.
 */
import { useMutation } from "@connectrpc/connect-query";
import { useState } from "react";
import type { Configuration } from "../../../gen/modelgateway/v1/configuration_pb.ts";
import { OperatorService } from "../../../gen/modelgateway/v1/operator_pb.ts";
import { baseAfter } from "./own-saves.ts";
import { isConflict } from "./save-changes.tsx";
import type { Change } from "./use-configuration.ts";

export interface Review {
  /** base is the version that the form was opened at: what somebody else saves meanwhile is told as a conflict. */
  readonly base: number;
  /** isLocked is whether the configuration cannot be changed now. */
  readonly isLocked: boolean;
  readonly review: (changes: readonly Change[]) => void;
  /** reviewed are the changes that the dialog shows; undefined while it is closed. */
  readonly reviewed: readonly Change[] | undefined;
  readonly close: () => void;
  readonly busy: boolean;
  /** error is why the changes were refused. */
  readonly error: Error | null;
}

/** useReview calls `onRefused` with why changes were refused, so that a form can tell it at its fields. */
export function useReview(configuration: Configuration, onRefused?: (error: Error) => void): Review {
  const [base] = useState(configuration.version);
  const [reviewed, setReviewed] = useState<readonly Change[]>();
  const check = useMutation(OperatorService.method.changeConfiguration);
  const review = (changes: readonly Change[]) => {
    const request = { baseVersion: baseAfter(base), changes: [...changes], dryRun: true };
    check.mutate(request, {
      onSuccess: () => setReviewed(changes),
      // The dialog tells of a conflict, and what to do about it.
      onError: (error) => (isConflict(error) ? setReviewed(changes) : onRefused?.(error)),
    });
  };
  const error = check.error && !isConflict(check.error) ? check.error : null;
  return {
    ...{ base, isLocked: configuration.locked !== undefined, review, reviewed, error },
    ...{ close: () => setReviewed(undefined), busy: check.isPending },
  };
}
