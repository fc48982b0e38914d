// The report and the idle time of devices: what `kymo report --json` says.

import type { App } from '../app';
import { fileName } from '../core/protocol';
import { count, duration, percent } from '../core/units';
import { wholeSpan } from '../core/viewport';
import { css } from '../timeline/palette';
import { useAnswer } from './hooks';
import { Answer, Bar, Swatch, Table } from './parts';
import { exactly } from '../core/names';
import { evidenceOf, stateIn } from './evidence';

interface HostRow {
  name: string;
  self_ns: number;
  total_ns: number;
  count: number;
  longest_ns: number;
}
type Places = Record<string, { start_ns: number; duration_ns: number }>; // by cause
export interface DeviceReport {
  name: string;
  window_ns: number;
  compute_ns: number;
  exposed_communication_ns: number;
  exposed_copies_ns: number;
  idle_ns: Record<string, number>;
  operations: number;
  longest: Array<{ name: string; kind: string; count: number; total_ns: number; longest_ns: number }>;
  longest_idle?: Places;
  host_during_late_launches?: HostRow[];
  host_during_late_launches_outside_ns?: number;
}
export interface Report {
  window_ns: number;
  events: number;
  duration_ns: number;
  iterations: { source: string; name: string; thread: string; count: number; median_ns: number; shortest_ns: number; longest_ns: number; list: Array<{ start_ns: number; duration_ns: number }> };
  parts: Array<{ name: string; ns: number }>;
  devices: DeviceReport[];
  host: HostRow[];
  memory?: { peak_bytes: number };
  findings: Finding[];
}
export interface Finding {
  text: string;
  saves_ns: number;
  evidence: string[];
  command: string;
  record?: string;
}

export function fileOfFocus(app: App): number {
  return app.track(app.event?.track ?? app.focus ?? -1)?.file ?? 0;
}

export function useReport(app: App, file: number) {
  return useAnswer<Report>(`report ${file}`, (signal) => app.client.report(file, signal) as Promise<Report>);
}

export function ReportPanel({ app }: { app: App }) {
  const file = fileOfFocus(app);
  const pending = useReport(app, file);
  return (
    <Answer pending={pending}>
      {(report) => (
        <div class="columns">
          <section>
            <h2>{fileName(app.trace!.files[file])}</h2>
            <dl>
              <dt>Events</dt>
              <dd>{count(report.events ?? 0)}</dd>
              <dt>Duration</dt>
              <dd>{duration(report.duration_ns)}</dd>
              {report.iterations?.count > 1 && (
                <>
                  <dt>Iterations</dt>
                  <dd>{`${count(report.iterations.count)}, median ${duration(report.iterations.median_ns)} (${duration(report.iterations.shortest_ns)} to ${duration(report.iterations.longest_ns)})`}</dd>
                </>
              )}
            </dl>
            <Parts app={app} file={file} parts={report.parts ?? []} places={report.devices?.[0]?.longest_idle} whole={report.window_ns} />
          </section>
          <section>
            <h3>Findings</h3>
            {(report.findings ?? []).length === 0 && <p class="hint">None.</p>}
            {(report.findings ?? []).map((finding) => (
              <div class="finding">
                <button title={`show the evidence; in a terminal: ${finding.command}`} onClick={() => void app.attempt(() => showEvidence(app, file, finding))}>
                  {finding.text} {finding.saves_ns > 0 && <small>{`saves at most ${duration(finding.saves_ns)}`}</small>}
                  {finding.evidence.map((line) => <span>{line}</span>)}
                </button>
                {finding.record && <p class="hint">{`To know more, record ${finding.record}`}</p>}
              </div>
            ))}
          </section>
          {longest(report).length > 0 && <section class="wide">
            <h3>Longest operations</h3>
            <Table
              rows={longest(report)}
              sort={3}
              choose={(row) => void app.find(exactly(row.name), false)}
              columns={[
                { title: 'Name', wide: true, text: (r) => <><Swatch name={r.name} app={app} />{r.name}</>, value: (r) => r.name },
                { title: 'Where', wide: true, text: (r) => <span title={r.where}>{r.where}</span>, value: (r) => r.where },
                { title: 'Count', text: (r) => count(r.count), value: (r) => r.count },
                { title: 'Time', text: (r) => duration(r.total_ns), value: (r) => r.total_ns },
              ]}
            />
          </section>}
        </div>
      )}
    </Answer>
  );
}

const tracksOf = (app: App, file: number) => app.trace!.tracks.filter((track) => track.file === file).map((track) => track.id);

/** Shows a time of a file, and selects it. */
function showTime(app: App, file: number, from: number, to: number): void {
  const shift = app.shiftOf(file), margin = (to - from) * 0.1;
  app.show({ from: from + shift - margin, to: to + shift + margin });
  void app.select({ from: from + shift, to: to + shift, tracks: tracksOf(app, file) }, false);
}

/**
 * Goes to the evidence, and selects it. Of a name, that is its longest range; of functions, the one with the most CPU
 * time; of waits, the longest one of the function that the finding names.
 */
async function showEvidence(app: App, file: number, { command, text, evidence: lines }: Finding): Promise<void> {
  const evidence = evidenceOf(command);
  const tracks = tracksOf(app, file);
  const length = app.trace!.files[file].duration_ns;
  if (typeof evidence !== 'string') return 'search' in evidence ? app.findLongest(evidence.search) : showTime(app, file, evidence.span.from, evidence.span.to);
  if (evidence === 'memory') {
    app.setTab('memory');
    return app.goToPeak();
  }
  if (evidence !== 'totals') {
    const { functions, states = [] } = await app.client.selection(0, length, tracks);
    if (evidence === 'functions' && functions?.length) return app.findLongest(exactly(functions[0].function));
    const names = states.map(({ name }) => name);
    const at = evidence === 'ready' ? names.indexOf('ready') : [text, lines.join('\n')].map((said) => stateIn(said, names)).find((found) => found >= 0);
    if (evidence !== 'functions' && states[at ?? -1]) return app.goTo(states[at!].longest);
  }
  app.show(wholeSpan(app.duration));
  return app.select({ from: app.shiftOf(file), to: length + app.shiftOf(file), tracks });
}

/** The operations of devices and the ranges of the host; none if the program was only sampled. */
function longest(report: Report): Array<{ name: string; where: string; count: number; total_ns: number }> {
  return [...(report.devices ?? []).flatMap((d) => d.longest.map((o) => ({ name: o.name, where: d.name, count: o.count, total_ns: o.total_ns }))), ...(report.host ?? []).map((h) => ({ name: h.name, where: report.iterations?.thread || 'host', count: h.count, total_ns: h.self_ns }))];
}

/** A click on idle time goes to the longest one of its cause. */
function Parts({ app, file, parts, places, whole }: { app: App; file: number; parts: Array<{ name: string; ns: number }>; places?: Places; whole: number }) {
  const shown = parts.filter((part) => part.ns > 0);
  const name = (part: { name: string }) => {
    const place = places?.[part.name.replace(/^(device )?idle: /, '')];
    return place ? <button title="go to the longest one" onClick={() => showTime(app, file, place.start_ns, place.start_ns + place.duration_ns)}>{part.name}</button> : part.name;
  };
  const colour = (i: number) => css(app.theme.colours[i % 16]);
  return (
    <>
      <Bar whole={whole} parts={shown.map((part, i) => ({ name: part.name, value: part.ns, colour: colour(i), text: duration(part.ns) }))} />
      <ul class="legend">
        {shown.map((part, i) => (
          <li>
            <i class="swatch" style={{ background: colour(i) }} />
            <span>{name(part)}</span>
            <b>{duration(part.ns)}</b>
            <small>{percent(part.ns, whole)}</small>
          </li>
        ))}
      </ul>
    </>
  );
}

/** As `kymo report` lists them. */
function duringLate(device: DeviceReport): Array<{ name: string; self_ns: number; count?: number }> {
  const outside = device.host_during_late_launches_outside_ns ?? 0;
  return [...(device.host_during_late_launches ?? []), ...(outside > 0 ? [{ name: '(outside of any range)', self_ns: outside }] : [])];
}

export function Idle({ app }: { app: App }) {
  const file = fileOfFocus(app);
  const pending = useAnswer<{ devices?: DeviceReport[] }>(`idle ${file}`, (signal) => app.client.idle(file, signal) as Promise<{ devices?: DeviceReport[] }>);
  return (
    <Answer pending={pending}>
      {(answer) =>
        (answer.devices ?? []).length === 0 ? (
          <p class="hint">No work of a device in this trace.</p>
        ) : (
          <div class="columns">
            {answer.devices!.map((device) => (
              <>
                <section>
                  <h2>{device.name}</h2>
                  <Parts
                    app={app}
                    file={file}
                    places={device.longest_idle}
                    whole={device.window_ns}
                    parts={[
                      { name: 'computes', ns: device.compute_ns },
                      { name: 'communication that nothing hides', ns: device.exposed_communication_ns },
                      { name: 'copies that nothing hides', ns: device.exposed_copies_ns },
                      ...Object.entries(device.idle_ns ?? {}).map(([cause, ns]) => ({ name: `idle: ${cause}`, ns })),
                    ]}
                  />
                </section>
                {duringLate(device).length > 0 && (
                  <section class="wide">
                    <h3>What the host did while the device waited for a launch</h3>
                    <Table
                      rows={duringLate(device)}
                      sort={1}
                      choose={(row) => row.count !== undefined && void app.find(exactly(row.name), false)}
                      columns={[
                        { title: 'Name', wide: true, text: (r) => r.name, value: (r) => r.name },
                        { title: 'Self', text: (r) => duration(r.self_ns), value: (r) => r.self_ns },
                        { title: 'Count', text: (r) => (r.count === undefined ? '' : count(r.count)), value: (r) => r.count ?? 0 },
                      ]}
                    />
                  </section>
                )}
              </>
            ))}
          </div>
        )
      }
    </Answer>
  );
}
