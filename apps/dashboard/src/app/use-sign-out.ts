import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { forgetDraft } from '../api/kept-draft.ts';
import { queryClient } from '../api/queries.ts';
import { send } from '../api/request.ts';

/** Ends the session and opens the sign-in page. */
export function useSignOut() {
  const navigate = useNavigate();
  return useMutation({
    mutationFn: () => send('POST', '/sign-out'),
    // Even after an error: nothing of the session may stay on the screen.
    onSettled: async () => {
      queryClient.clear();
      forgetDraft();
      await navigate({ to: '/sign-in' });
    },
  });
}
