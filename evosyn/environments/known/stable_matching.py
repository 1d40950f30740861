"""Pair two groups so that nobody would rather change."""

CATEGORY = "constraint"
KIND = "feasible"
LEVELS = 5
KNOBS = {"pairs": (3, 4, 5, 6, 7)}


def generate(rng, knobs):
    n = knobs["pairs"]
    instance = {side: [rng.sample(range(1, n + 1), n) for _ in range(n)] for side in ("workers", "shops")}
    return instance, None


def observe(instance):
    lines = [
        f"{side[:-1]} {i} likes {other}, best first: {' '.join(map(str, wishes))}"
        for side, other in (("workers", "shops"), ("shops", "workers"))
        for i, wishes in enumerate(instance[side], 1)
    ]
    return (
        "Give each worker one shop and each shop one worker.\n"
        + "\n".join(lines)
        + "\nNo worker and shop that are not "
        "paired may both like each other more than what they got. Write the shop of each worker, worker 1 first, "
        "separated by blanks."
    )


def solve(instance):
    workers, shops = instance["workers"], instance["shops"]
    free, asked, held = list(range(len(workers))), [0] * len(workers), {}
    while free:
        worker = free.pop()
        shop = workers[worker][asked[worker]]
        asked[worker] += 1
        rival = held.get(shop)
        if rival is None or shops[shop - 1].index(worker + 1) < shops[shop - 1].index(rival + 1):
            held[shop] = worker
            free += [] if rival is None else [rival]
        else:
            free.append(worker)
    got = {worker: shop for shop, worker in held.items()}
    return " ".join(str(got[worker]) for worker in range(len(workers)))


def verify(instance, reference, answer):
    workers, shops, words = instance["workers"], instance["shops"], answer.split()
    n = len(workers)
    if sorted(words) != sorted(map(str, range(1, n + 1))):
        return False
    shop_of = [int(word) for word in words]
    worker_of = {shop: worker for worker, shop in enumerate(shop_of)}
    for worker in range(n):
        for shop in workers[worker][: workers[worker].index(shop_of[worker])]:
            likes = shops[shop - 1]
            if likes.index(worker + 1) < likes.index(worker_of[shop] + 1):
                return False
    return True
