import { notifications } from '@mantine/notifications';
import { useMutation, type QueryKey, type UseMutationResult } from '@tanstack/react-query';
import { queryClient } from '../api/queries.ts';

/** A change, as a dialog shows and starts it. */
export type Save = Pick<UseMutationResult<unknown, Error, void>, 'isPending' | 'error' | 'mutate'>;

interface SaveOptions<Values, Answer> {
  readonly send: (values: Values) => Promise<Answer>;
  /** What the change makes stale; read again before the user is told. */
  readonly stale?: readonly { readonly queryKey: QueryKey }[];
  /** What the user is told. */
  readonly done?: string | ((answer: Answer, values: Values) => string | undefined);
  /** What happens then, such as closing the dialog. */
  readonly after?: (answer: Answer, values: Values) => unknown;
  /** What the user is told of a failure, with its reason. Without it, the page shows the error. */
  readonly failed?: string;
  readonly onError?: (error: Error, values: Values) => unknown;
}

/** Sends a change of the user to the API. */
export function useSave<Answer, Values = void>({
  send,
  stale = [],
  done,
  after,
  failed,
  onError,
}: SaveOptions<Values, Answer>): UseMutationResult<Answer, Error, Values> {
  return useMutation({
    mutationFn: send,
    onSuccess: async (answer, values) => {
      await Promise.all(stale.map(({ queryKey }) => queryClient.invalidateQueries({ queryKey })));
      const message = typeof done === 'function' ? done(answer, values) : done;
      if (message !== undefined) notifications.show({ color: 'green', message });
      await after?.(answer, values);
    },
    onError: async (error, values) => {
      if (failed !== undefined) notifications.show({ color: 'red', title: failed, message: error.message });
      await onError?.(error, values);
    },
  });
}
