import { useMutation } from '@tanstack/react-query';
import { forgetDraft } from '../api/kept-draft.ts';
import { CONSOLE } from '../api/place.ts';
import { queryClient } from '../api/queries.ts';
import { send } from '../api/request.ts';

/** Ends the session and loads the sign-in page. */
export function useSignOut() {
  return useMutation({
    mutationFn: () => send('POST', '/sign-out'),
    // Even after an error: nothing of the session may stay on the screen, or in memory.
    onSettled: async () => {
      await forgetDraft();
      await queryClient.cancelQueries();
      location.replace(`${CONSOLE}/sign-in`);
    },
  });
}
