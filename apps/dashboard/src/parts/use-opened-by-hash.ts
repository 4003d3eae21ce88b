import { useLocation, useNavigate } from '@tanstack/react-router';
import { useEffect, useEffectEvent } from 'react';

/** Calls `open` when the page is opened with a hash, such as `#new`, which is then removed from the URL. */
export function useOpenedByHash(wanted: string, open: () => unknown): void {
  const hash = useLocation({ select: (location) => location.hash });
  const navigate = useNavigate();
  const openNow = useEffectEvent(() => {
    open();
    void navigate({ to: '.', hash: '', search: true, replace: true });
  });
  useEffect(() => {
    if (hash === wanted) openNow();
  }, [hash, wanted]);
}
