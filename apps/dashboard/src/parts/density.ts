import { useLocalStorage } from '@mantine/hooks';

/** Whether rows are compact, and how to change it; stored in the browser. */
export function useCompactRows() {
  return useLocalStorage({ key: 'darkroom.compact-rows', defaultValue: false, getInitialValueInEffect: false });
}
