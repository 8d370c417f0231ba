# liblinear.csv: weights (bias last) of scikit-learn's LinearSVC on z-scored features.
import numpy as np, sys, time, warnings
from load import load
from sklearn.svm import LinearSVC
warnings.simplefilter("error")                       # a solver that did not converge is an error
name=sys.argv[1]; X,Y=load(name)
for loss in ["squared_hinge","hinge"]:
    for C in [0.01,1,100]:
        if name=="yeast" and loss=="hinge" and C==100: continue     # see below
        for j in range(Y.shape[1]):
            t=time.time()
            if loss=="squared_hinge": m=LinearSVC(loss=loss,C=C,dual=False,tol=1e-10,max_iter=100000)
            else: m=LinearSVC(loss=loss,C=C,dual=True,tol=1e-7,max_iter=20000000,random_state=0)
            try: m.fit(X,Y[:,j])
            except Warning as e: print("#",name,loss,C,j,"not converged",flush=True); continue
            w=np.append(m.coef_.ravel(),m.intercept_)
            print(name,loss,C,j,*["%.7g"%v for v in w],sep=",",flush=True)
            print(name,loss,C,j,round(time.time()-t,1),m.n_iter_,file=sys.stderr,flush=True)
