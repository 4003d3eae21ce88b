import { Group, NumberInput, Select, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import type { Model } from '../../api/types.ts';
import { dimensions } from '../../parts/format.ts';
import { ShapePicker, TierPicker } from '../../parts/shape-picker.tsx';
import type { ExtraChoice } from './extra-fields.ts';
import type { LikeSize } from './reference-shape.ts';
import { REFERENCE_SHAPE, type Choices, type ImageSettings } from './settings.ts';

const FORMATS: Readonly<Record<string, string>> = { png: 'PNG', jpeg: 'JPEG', webp: 'WebP', gif: 'GIF' };
const BACKGROUNDS: Readonly<Record<string, string>> = { auto: 'Auto', opaque: 'Opaque', transparent: 'Transparent' };
const QUALITIES: Readonly<Record<string, string>> = { auto: 'Auto', low: 'Low', medium: 'Medium', high: 'High' };

const FRAME_TIMES: Readonly<Record<string, string>> = {
  auto: 'Auto',
  '50': '0.05 s',
  '100': '0.1 s',
  '200': '0.2 s',
  '500': '0.5 s',
  '1000': '1 s',
};

interface ModelFieldProps {
  readonly models: readonly Model[];
  readonly value: string;
  readonly onChange: (model: string) => void;
}

/** Comes first, because the model determines the other choices. */
export function ModelField({ models, value, onChange }: ModelFieldProps) {
  return <Choice label="Model" values={models.map(({ id }) => id)} value={value} onChange={onChange} />;
}

interface SettingsFieldsProps {
  readonly choices: Choices;
  /** Adjusted to the choices. */
  readonly settings: ImageSettings;
  /** The size for the shape of the reference, if that is chosen. */
  readonly like: LikeSize | undefined;
  readonly onChange: (changes: Partial<ImageSettings>) => void;
}

/** The settings of the image. */
export function SettingsFields({ choices, settings, like, onChange }: SettingsFieldsProps) {
  const pick = (name: Exclude<keyof ImageSettings, 'n' | 'extra'>) => (value: string) => onChange({ [name]: value });
  const bound = (name: Exclude<keyof ImageSettings, 'n' | 'extra' | 'model' | 'size' | 'resolution'>) => ({
    value: settings[name],
    onChange: pick(name),
  });
  return (
    <Stack gap="md">
      <div>
        <ShapePicker sizes={choices.sizes} reference={REFERENCE_SHAPE} value={settings.size} onChange={pick('size')} />
        {like !== undefined && (
          <Text size="xs" c="dimmed" mt={6}>
            {likeText(like)}
          </Text>
        )}
      </div>
      <Group grow align="flex-start">
        <TierPicker tiers={choices.tiers} value={settings.resolution} onChange={pick('resolution')} />
        <Choice label="Quality" values={choices.qualities} names={QUALITIES} {...bound('quality')} />
        {choices.complexities.length > 1 && (
          <Choice label="Complexity" values={choices.complexities} names={QUALITIES} {...bound('complexity')} />
        )}
      </Group>
      <Group grow align="flex-end">
        <Choice label="Format" values={choices.formats} names={FORMATS} {...bound('output_format')} />
        <Choice label="Background" values={choices.backgrounds} names={BACKGROUNDS} {...bound('background')} />
        {choices.mostImages > 1 && (
          <Choice
            label="Images"
            values={Array.from({ length: choices.mostImages }, (_, index) => String(index + 1))}
            value={String(settings.n)}
            onChange={(n) => onChange({ n: Number(n) })}
          />
        )}
      </Group>
      {choices.frameCounts.length > 1 && (
        <Group grow align="flex-end">
          <Choice label="Frames" values={choices.frameCounts} names={QUALITIES} {...bound('frame_count')} />
          <Choice
            label="Time per frame"
            values={choices.frameTimes}
            names={FRAME_TIMES}
            {...bound('frame_duration_ms')}
          />
        </Group>
      )}
      {choices.extra.length > 0 && (
        <SimpleGrid cols={2}>
          {choices.extra.map((choice) => (
            <ExtraInput
              key={choice.name}
              choice={choice}
              value={settings.extra?.[choice.name] ?? ''}
              onChange={(text) => onChange({ extra: { ...settings.extra, [choice.name]: text } })}
            />
          ))}
        </SimpleGrid>
      )}
    </Stack>
  );
}

interface ExtraInputProps {
  readonly choice: ExtraChoice;
  readonly value: string;
  readonly onChange: (text: string) => void;
}

/** The input of a field that only some models have; empty: the provider decides. */
function ExtraInput({
  choice: { name, type, min, max, enum: texts, max_length: length },
  value,
  onChange,
}: ExtraInputProps) {
  const label = name.replaceAll('_', ' ').replace(/^./, (first) => first.toUpperCase());
  const common = { label, placeholder: 'Default' };
  if (type === 'boolean' || texts !== undefined) {
    const data = texts ?? [
      { value: 'true', label: 'Yes' },
      { value: 'false', label: 'No' },
    ];
    return <Select {...common} clearable data={data} value={value || null} onChange={(next) => onChange(next ?? '')} />;
  }
  if (type === 'string') {
    return (
      <TextInput
        {...common}
        maxLength={length}
        value={value}
        onChange={({ currentTarget }) => onChange(currentTarget.value)}
      />
    );
  }
  return (
    <NumberInput
      {...common}
      allowDecimal={type === 'number'}
      // Otherwise, numbers would be out of reach whose first digits are too small.
      clampBehavior="blur"
      {...(min === undefined ? {} : { min })}
      {...(max === undefined ? {} : { max })}
      value={value}
      onChange={(next) => onChange(String(next))}
    />
  );
}

function likeText({ size, isNearest }: LikeSize): string {
  if (size === 'auto') return 'The model chooses the shape.';
  if (isNearest) return `This model does not offer that shape. The result is ${size}, the closest match.`;
  return `Same shape as the first reference image: ${dimensions(size)}.`;
}

interface ChoiceProps {
  readonly label: string;
  readonly values: readonly string[];
  readonly names?: Readonly<Record<string, string>>;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

function Choice({ label, values, names = {}, value, onChange }: ChoiceProps) {
  return (
    <Select
      label={label}
      miw={100}
      allowDeselect={false}
      data={values.map((one) => ({ value: one, label: names[one] ?? one }))}
      value={value}
      onChange={(next) => {
        if (next !== null) onChange(next);
      }}
    />
  );
}
