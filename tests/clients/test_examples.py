"""notebooks/examples, executed by nbclient over the gateway: each runs whole and quietly, and its
numbers are those that this file computes from the same data by plain Python, or by theory."""

import csv
import datetime
import functools
import re
import shutil
import statistics

import cellblock
import examples
import pytest
from notebooks import execute

DATA = examples.FOLDER / "data" / "building"

PICTURE_BYTES = (5_000, 300_000)  # an empty plot has fewer
PICTURE_SIDES = (200, 1200)


@pytest.fixture(scope="module")
def serve(kernels):
    with cellblock.Serve("--data", f"building={DATA}", kernels=kernels) as server:
        yield server


@pytest.fixture(scope="module")
def executed(tmp_path_factory, pipeline_url):
    """Call it with a name: (error or None, examples.Executed). Each runs once."""

    @functools.cache
    def run(name):
        folder = tmp_path_factory.mktemp(name)
        shutil.copy(examples.FOLDER / f"{name}.ipynb", folder)
        asks = {"KERNEL_CELLBLOCK": '{"data": ["building"]}'} if name == "building" else {}
        runs = execute(folder, "gateway", [name], JUPYTER_GATEWAY_URL=pipeline_url, **asks)
        error, notebook = runs[name]
        return error, examples.Executed(notebook)

    return run


@pytest.fixture
def building(executed):
    return executed("building")[1]


@pytest.fixture
def cold_store(executed):
    return executed("cold_store")[1]


@pytest.fixture
def queue(executed):
    return executed("queue")[1]


@pytest.fixture
def web_log(executed):
    return executed("web_log")[1]


# -- all of them ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", examples.NAMES)
def test_committed_without_outputs(name):
    notebook = examples.read(name)
    assert notebook.metadata.kernelspec.name == "python3"
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.execution_count is None and cell.outputs == [] for cell in code)


@pytest.mark.parametrize("name", examples.NAMES)
def test_runs_whole(executed, name):
    error, notebook = executed(name)
    assert error is None
    counts = [cell.execution_count for cell in notebook.cells.values()]
    assert counts == list(range(1, len(counts) + 1))


@pytest.mark.parametrize("name", examples.NAMES)
def test_warns_of_nothing(executed, name):
    _, notebook = executed(name)
    streams = [output for output in notebook.outputs() if output.output_type == "stream"]
    assert [output.text for output in streams if output.name != "stdout"] == []


@pytest.mark.parametrize("name", examples.NAMES)
def test_shows_tables_and_pictures(executed, name):
    _, notebook = executed(name)
    assert len(notebook.mime("text/html")) >= 2
    pictures = list(notebook.pictures())
    assert len(pictures) >= 2
    for size, *sides in pictures:
        assert PICTURE_BYTES[0] < size < PICTURE_BYTES[1]
        assert all(PICTURE_SIDES[0] <= side <= PICTURE_SIDES[1] for side in sides)


# -- cold_store -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def faults(tmp_path_factory):
    """(what, where, first, end) of what the example's data have wrong."""
    return examples.run_cell("cold_store", "data", tmp_path_factory.mktemp("data"))["FAULTS"]


def test_cold_store_finds_every_fault(cold_store, faults):
    events = [row[1:5] for row in cold_store.table("events")[1:]]
    for row in events:
        row[2:] = map(datetime.datetime.fromisoformat, row[2:])
    assert sorted(row[:2] for row in events) == sorted([*fault[:2]] for fault in faults)
    for fault in faults:
        # The door is known by what it does to the air.
        if fault[0] != "door":
            assert list(fault) in events
    ((_, _, opened, closed),) = (fault for fault in faults if fault[0] == "door")
    ((_, _, first, end),) = (row for row in events if row[0] == "door")
    assert opened < first < opened + datetime.timedelta(minutes=30)
    assert closed < end < closed + datetime.timedelta(minutes=90)


def test_cold_store_daily_numbers(cold_store, tmp_path):
    examples.run_cell("cold_store", "data", tmp_path)
    by_day = {}
    for line in (tmp_path / "readings.csv").read_text().splitlines()[1:]:
        time, sensor, celsius = line.split(",")
        day = datetime.datetime.fromisoformat(time).strftime("%a %d %b")
        by_day.setdefault(day, {}).setdefault(sensor, []).append(float(celsius))
    rows = cold_store.table("daily")[3:]
    assert [row[0] for row in rows] == list(by_day)
    for day, *shown in rows:
        values = [by_day[day][sensor] for sensor in "ABC"]
        wanted = [kind(some) for some in values for kind in (min, statistics.fmean, max)]
        assert [float(one) for one in shown] == pytest.approx(wanted, abs=0.0051)


# -- queue ----------------------------------------------------------------------------------------


def test_queue_agrees_with_theory(queue):
    rows = [[float(one) for one in row] for row in queue.table("intervals")[2:]]
    assert [row[0] for row in rows] == [0.3, 0.5, 0.7, 0.8]
    for load, simulated, low, high, theory in rows:
        # Erlang: mean service 1, exponential.
        assert theory == pytest.approx(load / (1 - load), abs=0.001)
        assert low < simulated < high < simulated * 1.1
        # Twice the interval is four standard errors.
        assert abs(simulated - theory) < high - low


def test_queue_knows_what_variability_costs(queue):
    rows = {row[0]: [float(one) for one in row[1:]] for row in queue.table("variability")[2:]}
    # Mean of the squares is 1 + c²: 0.9 * 0.25 + 0.1 * 30.25 for the last.
    squares = {"always one minute": 1, "exponential": 2, "quick or slow": 3.25}
    assert set(rows) == set(squares)
    for name, (_, simulated, half, _) in rows.items():
        assert abs(simulated - 0.7 / 0.3 * squares[name] / 2) < 2 * half


def test_queue_intervals_hold_the_truth(queue):
    hits, hands = re.match(r"(\d+) of (\d+) intervals", queue.text("coverage")).groups()
    assert int(hands) == 200
    # Binomial around 190: five standard deviations of 3.1.
    assert abs(int(hits) - 190) < 15


# -- web_log --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def requests(tmp_path_factory):
    """Every request of people in the example's log: (address, time, path, status, agent, took)."""
    folder = tmp_path_factory.mktemp("data")
    examples.run_cell("web_log", "data", folder)
    found = []
    for line in (folder / "access.log").read_text().splitlines():
        parts = line.split('"')
        if len(parts) != 7 or "Bot" in parts[5]:
            continue
        address, *_, stamp, _ = parts[0].split()
        time = datetime.datetime.strptime(stamp, "[%d/%b/%Y:%H:%M:%S")
        path, status = parts[1].split()[1], int(parts[2].split()[0])
        found.append((address, time, path, status, parts[5], int(parts[6])))
    return found


def test_web_log_counts_what_is_no_request(web_log):
    lines = int(web_log.text("look").splitlines()[-1].split()[0])
    parsed, strange = map(int, re.findall(r"\d+", web_log.text("parse").splitlines()[0]))
    assert (parsed + strange, strange) == (lines, 25)


def test_web_log_percentiles(web_log, requests):
    rows = {row[0]: [int(one) for one in row[1:]] for row in web_log.table("percentiles")[2:]}
    assert set(rows) == {path for _, _, path, _, _, _ in requests}
    for path, (count, *shown) in rows.items():
        took = [request[5] for request in requests if request[2] == path]
        cuts = statistics.quantiles(took, n=100, method="inclusive")
        assert count == len(took)
        assert shown == pytest.approx([cuts[49], cuts[94], cuts[98]], abs=0.51)


def test_web_log_visits(web_log, requests):
    last, visits = {}, 0
    for address, time, _, _, agent, _ in sorted(requests, key=lambda request: request[1]):
        before = last.get((address, agent), datetime.datetime.min)
        visits += time - before > datetime.timedelta(minutes=30)
        last[address, agent] = time
    assert int(web_log.text("visits").split()[0]) == visits


def test_web_log_finds_the_bad_half_hour(web_log, requests):
    errors = sum(status >= 500 for _, _, _, status, _, _ in requests)
    said = web_log.text("incident").splitlines()[0]
    assert said == f"{errors} errors, the first after 14:20, the last before 14:50"
    rows = web_log.table("by-page")[2:]
    assert {row[0] for row in rows if float(row[2]) > 0} == {"/search", "/cart", "/checkout"}


# -- building -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def days():
    """(date, degrees outside, open, kWh) of every day with a reading, from the files themselves."""
    found = []
    for path in sorted(DATA.glob("*.csv")):
        for row in csv.DictReader(path.read_text().splitlines()):
            if row["kwh"]:
                day = datetime.date.fromisoformat(row["date"])
                found.append((day, float(row["outside_celsius"]), row["open"], int(row["kwh"])))
    return found


def solve(rows):
    """The unknowns of linear equations, each row its factors and its sum, by elimination."""
    for n in range(len(rows)):
        rows[n:] = sorted(rows[n:], key=lambda row: -abs(row[n]))  # noqa: B023
        for m in range(len(rows)):
            if m != n:
                factor = rows[m][n] / rows[n][n]
                rows[m] = [a - factor * b for a, b in zip(rows[m], rows[n], strict=True)]
    return [row[-1] / row[n] for n, row in enumerate(rows)]


def least_squares(days, heating_below, cooling_above):
    """Coefficients of 1, open, degrees to heat and degrees to cool, by the normal equations."""
    lines = [
        (1, is_open == "yes", max(0, heating_below - t), max(0, t - cooling_above), kwh)
        for _, t, is_open, kwh in days
    ]
    products = [[sum(a[n] * a[m] for a in lines) for m in range(5)] for n in range(4)]
    return solve(products)


def test_building_reads_every_part(building, days):
    assert building.text("parts") == f"12 files, 366 days, {366 - len(days)} without a reading\n"
    shown = [int(float(row[-1])) for row in building.table("months")[2:]]
    wanted = [sum(kwh for day, *_, kwh in days if day.month == month) for month in range(1, 13)]
    assert shown == wanted


def test_building_fits_as_plain_python_does(building, days):
    bends = map(float, re.findall(r"[\d.]+(?= °C)", building.text("bends")))
    wanted = least_squares(days, *bends)
    shown = [float(row[1]) for row in building.table("fit")[1:]]
    assert shown == pytest.approx(wanted, abs=0.051)


def test_building_finds_october(building, days):
    first, last = datetime.date(2024, 10, 14), datetime.date(2024, 10, 27)
    assert building.text("episode").startswith("14 October to 27 October: ")
    bends = list(map(float, re.findall(r"[\d.]+(?= °C)", building.text("bends"))))
    kept = [row for row in days if not first <= row[0] <= last]
    shown = [float(row[1]) for row in building.table("refit")[1:]]
    assert shown == pytest.approx(least_squares(kept, *bends), abs=0.051)


def test_building_predicts_unseen_months(building):
    rows = building.table("months-left-out")[2:]
    assert len(rows) == 12
    for _, measured, predicted, off_by in rows:
        assert abs(float(off_by)) < 0.05
        assert float(off_by) == pytest.approx(float(predicted) / float(measured) - 1, abs=0.001)
