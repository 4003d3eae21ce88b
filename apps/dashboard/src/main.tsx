import '@mantine/core/styles.css';
import '@mantine/notifications/styles.css';
import '@mantine/dropzone/styles.css';
import './app/global.css';
import { MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { queryClient } from './api/queries.ts';
import { RequestError } from './api/request.ts';
import { router } from './app/router.tsx';
import { theme } from './app/theme.ts';

/** A session that ended elsewhere, or ran out, leads back to the sign-in with nothing left on the screen. */
function leaveWhenSignedOut(error: Error): void {
  if (!(error instanceof RequestError) || error.code !== 'not_signed_in') return;
  if (router.state.location.pathname.endsWith('/sign-in')) return;
  void router.navigate({ to: '/sign-in' }).then(() => {
    queryClient.clear();
  });
}
queryClient.getQueryCache().config.onError = leaveWhenSignedOut;
queryClient.getMutationCache().config.onError = leaveWhenSignedOut;

const root = document.getElementById('root');
if (root === null) throw new Error('The page has no place for the console.');
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <MantineProvider theme={theme} defaultColorScheme="auto">
        <Notifications position="bottom-right" />
        <RouterProvider router={router} />
      </MantineProvider>
    </QueryClientProvider>
  </StrictMode>,
);
