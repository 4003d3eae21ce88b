import { TextInput } from '@mantine/core';
import { useDebouncedCallback, useDidUpdate } from '@mantine/hooks';
import { IconSearch } from '@tabler/icons-react';
import { useRef, useState } from 'react';

interface SearchFieldProps {
  readonly label: string;
  readonly placeholder: string;
  /** The text in the URL. */
  readonly text: string | undefined;
  readonly onChange: (text: string | undefined) => void;
  /** As wide as the other filters, instead of as wide as there is room. */
  readonly narrow?: boolean;
}

/** A text filter of a list, which applies shortly after typing. */
export function SearchField({ label, placeholder, text: searched, onChange, narrow = false }: SearchFieldProps) {
  const [text, setText] = useState(searched ?? '');
  const sent = useRef(searched);
  // Changed elsewhere: by a link, a saved view, or the browser's back button.
  useDidUpdate(() => {
    if (searched !== sent.current) setText(searched ?? '');
    sent.current = searched;
  }, [searched]);
  const search = useDebouncedCallback((words: string) => {
    sent.current = words === '' ? undefined : words;
    onChange(sent.current);
  }, 300);
  return (
    <TextInput
      aria-label={label}
      placeholder={placeholder}
      leftSection={narrow ? undefined : <IconSearch size={16} />}
      value={text}
      maxLength={200}
      {...(narrow ? { w: { base: '100%', sm: 160 } } : { flex: 1, miw: 200 })}
      onChange={({ currentTarget: { value } }) => {
        setText(value);
        search(value);
      }}
    />
  );
}
