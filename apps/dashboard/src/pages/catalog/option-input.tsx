import { MultiSelect, NumberInput, Select, Textarea, TextInput } from '@mantine/core';
import type { OptionField, OptionTexts } from './options.ts';

interface OptionInputProps {
  readonly option: OptionField;
  readonly texts: OptionTexts;
  readonly error: string | undefined;
  readonly onChange: (texts: OptionTexts) => void;
}

/** The input of one provider option, according to its schema. */
export function OptionInput({ option, texts, error, onChange }: OptionInputProps) {
  const { name, kind, choices, description, required } = option;
  const value = texts[name] ?? '';
  const text = typeof value === 'string' ? value : '';
  const set = (given: string | string[]): void => onChange({ ...texts, [name]: given });
  const common = {
    label: name
      .replaceAll('_', ' ')
      .replace(/ ms$/, ' (ms)')
      .replace(/^./, (first) => first.toUpperCase()),
    description,
    error,
    required,
  };
  switch (kind) {
    case 'boolean':
      return (
        <Select
          {...common}
          placeholder="Default"
          clearable
          data={[
            { value: 'true', label: 'Yes' },
            { value: 'false', label: 'No' },
          ]}
          value={text === '' ? null : text}
          onChange={(given) => set(given ?? '')}
        />
      );
    case 'choice':
      return (
        <Select
          {...common}
          placeholder="Default"
          clearable
          data={choices}
          value={text === '' ? null : text}
          onChange={(given) => set(given ?? '')}
        />
      );
    case 'choices':
      return (
        <MultiSelect
          {...common}
          clearable
          data={choices}
          value={typeof value === 'string' ? [] : value}
          onChange={set}
        />
      );
    case 'number':
      return <NumberInput {...common} placeholder="Default" value={text} onChange={(given) => set(String(given))} />;
    case 'json':
      return (
        <Textarea
          {...common}
          autosize
          minRows={2}
          maxRows={10}
          spellCheck={false}
          styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
          value={text}
          onChange={(event) => set(event.currentTarget.value)}
        />
      );
    case 'text':
      return <TextInput {...common} value={text} onChange={(event) => set(event.currentTarget.value)} />;
  }
}
