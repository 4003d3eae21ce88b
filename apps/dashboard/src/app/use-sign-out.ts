import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { forgetDraft } from '../api/kept-draft.ts';
import { queryClient } from '../api/queries.ts';
import { send } from '../api/request.ts';

/** Ends the session, and leads to the sign-in. */
export function useSignOut() {
  const navigate = useNavigate();
  return useMutation({
    mutationFn: () => send('POST', '/sign-out'),
    // Signed out or not known any more: nothing of the session may stay on the screen.
    onSettled: async () => {
      queryClient.clear();
      forgetDraft();
      await navigate({ to: '/sign-in' });
    },
  });
}
