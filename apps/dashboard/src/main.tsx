import '@mantine/core/styles.css';
import '@mantine/notifications/styles.css';
import '@mantine/dropzone/styles.css';
import './app/global.css';
import { MantineProvider } from '@mantine/core';
import { Notifications, notifications } from '@mantine/notifications';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { queryClient, sessionQuery } from './api/queries.ts';
import { RequestError } from './api/request.ts';
import { CONSOLE, movesToPath } from './api/place.ts';
import { keepReturnAddress } from './app/return-address.ts';
import { router } from './app/router.tsx';
import { theme } from './app/theme.ts';

/** Survives a reload of the page, but not the tab. */
const ENDED = 'darkroom-session-ended';

/**
 * When a session has ended, loads the sign-in page, so that nothing of the session stays on the screen or in memory;
 * the sign-in leads back. Without an earlier session, the router redirects.
 */
function leaveWhenSignedOut(error: Error): void {
  if (!(error instanceof RequestError)) return;
  // The session says what the user has to do first.
  if (error.code === 'two_factor_required') void queryClient.invalidateQueries(sessionQuery);
  if (error.code !== 'not_signed_in') return;
  if (queryClient.getQueryData(sessionQuery.queryKey) === undefined) return;
  sessionStorage.setItem(ENDED, 'yes');
  keepReturnAddress();
  location.replace(`${CONSOLE}/sign-in`);
}
queryClient.getQueryCache().config.onError = leaveWhenSignedOut;
queryClient.getMutationCache().config.onError = leaveWhenSignedOut;

if (sessionStorage.getItem(ENDED) !== null) {
  sessionStorage.removeItem(ENDED);
  notifications.show({
    color: 'yellow',
    title: 'You are signed out',
    message: 'Your session has ended. Sign in again to continue.',
  });
}

const root = document.getElementById('root');
if (root === null) throw new Error('The page has no place for the console.');
if (!movesToPath()) render(root);

function render(place: HTMLElement): void {
  createRoot(place).render(
    <StrictMode>
      <QueryClientProvider client={queryClient}>
        <MantineProvider theme={theme} defaultColorScheme="auto">
          <Notifications position="bottom-right" />
          <RouterProvider router={router} />
        </MantineProvider>
      </QueryClientProvider>
    </StrictMode>,
  );
}
